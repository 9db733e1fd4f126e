#!/bin/sh
# A disk that is full when a checkpoint is due, or when an evaluation must keep rows on it, ends a training
# with code 5 and the name of the file or folder. The checkpoint before is whole, and with some space the run
# goes on from it.
. "$(dirname "$0")/../scenario/lib.sh"
. "$TESTS/fault/lib.sh"
options="--model sage --hidden 64 --batch-size 128 --fanout 5,5"

mkdir disk
mount -t tmpfs -o size=4m tmpfs disk 2>/dev/null || skip "cannot mount a small disk (needs root)"
trap 'end_training; umount disk; cleanup' EXIT
plimsoll synth papers100M --scale 0.001 --seed 1 --quiet --out a.plim
least=$("$PLIMSOLL" plan a.plim $options --epochs 100000 --memory 1G --json | sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p')

start a.plim $options --memory "$least" --save-dir disk/run
until_epoch 001 disk/run
dd if=/dev/zero of=disk/filler bs=64k 2>/dev/null || true
ends 5 "No space left on device" "disk/run/last.pth"
rm disk/filler
goes_on a.plim disk/run $options

# Evaluating with all neighbours under a tight limit puts the rows between the layers beside the checkpoints.
# The training nodes reach more rows than the others. What is only a figure at the end of a run is not worth
# its failure.
rm -r disk/run
least=$("$PLIMSOLL" plan a.plim $options --eval full --memory 1G --json | sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p')
run timeout 600 "$PLIMSOLL" train a.plim $options --eval full --epochs 1 --memory "$least" --save-dir disk/full
expect 0 "the accuracy on the training nodes is left out: evaluating with all neighbours keeps" "learned   accuracy: test 0."
! grep -q "^learned .*training" output || fail "an accuracy that was left out"
exit 0
