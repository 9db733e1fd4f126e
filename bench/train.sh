#!/bin/sh
# bench/train.sh [--scale S] [--folder DIR] [--device D]: trains a gcn on synthetic papers100M at two
# settings, everything resident, and sets each stage beside what the machine allows, measured in the same run.
# Needs 40 GB x S of disk.
. "$(dirname "$0")/lib.sh"
scale=0.0625
folder=.
device=cpu
take_options "scale folder device" "$@"
no_words
needs_built "$build/bench/training" bench
work_in "$folder" bench
"$build/plimsoll" synth papers100M --scale "$scale" --out "$work/papers.plim" --quiet >/dev/null
train() {
  name=$1
  shift
  "$build/plimsoll" train "$work/papers.plim" --model gcn --device "$device" --quiet --save-dir "$work/$name" "$@" \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}
train small --batch-size 128 --fanout 3,2 --hidden 16 --epochs 20 --log-steps 20
train large --batch-size 1024 --fanout 15,10 --hidden 256 --epochs 10 --log-steps 10
"$build/bench/training" "$work/papers.plim" "$work/small" "$work/large"
