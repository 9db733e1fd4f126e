#!/bin/sh
# What happens to a store while a training reads rows and lists from it: its disk fails, a file gets shorter,
# other bytes are written over it. Each ends the training with the code of errors.md and the file's name, and
# the last checkpoint is whole. A store that gets a new folder or new files under the old names does not
# disturb: what was opened goes on to be read.
. "$(dirname "$0")/../scenario/lib.sh"
. "$TESTS/fault/lib.sh"
options="--model gcn --hidden 32 --batch-size 256 --fanout 5,5"

plimsoll synth papers100M --scale 0.001 --seed 1 --quiet --out good.plim
plimsoll synth papers100M --scale 0.001 --seed 2 --quiet --out other.plim
# All of it below the lines.
least=$("$PLIMSOLL" plan good.plim $options --epochs 100000 --memory 1G --json | sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p')

echo "a file that gets shorter:"
for file in features.f16 neighbors.u32 offsets.u64; do
  cp -r good.plim a.plim
  start a.plim $options --memory "$least" --save-dir shorter --force
  until_epoch 001 shorter
  truncate -s 4096 a.plim/$file
  ends 8 "plimsoll train: a.plim/$file" "while it was being read"
  rm -r a.plim
done
goes_on good.plim shorter $options

echo "other bytes in its place:"
cp -r good.plim a.plim
start a.plim $options --memory "$least" --save-dir overwritten
until_epoch 001 overwritten
cp overwritten/last.pth before.pth
dd if=other.plim/features.f16 of=a.plim/features.f16 conv=notrunc bs=1M 2>/dev/null
ends 8 "a.plim/features.f16 was changed"
rm -r a.plim
goes_on good.plim overwritten $options

echo "another store under its name:"
cp -r good.plim a.plim
start a.plim $options --memory "$least" --save-dir replaced
until_epoch 001 replaced
mv a.plim old.plim
cp -r other.plim a.plim
rm -r old.plim
until_epoch 004 replaced
kill -TERM "$(cat pid)"
ends 9 "replaced/last.pth is written"
run plimsoll train a.plim --resume replaced --quiet
expect 3 "was trained on" "same store"
rm -r a.plim
goes_on good.plim replaced $options

# A disk that fails: a loop device over a file that becomes too short.
mkdir disk
truncate -s 64M disk.img
if mkfs.ext4 -q -O ^has_journal disk.img 2>/dev/null && device=$(losetup --find --show disk.img 2>/dev/null); then
  trap 'end_training; umount disk 2>/dev/null; losetup -d "$device"; cleanup' EXIT
  mount "$device" disk
  echo "a disk that fails:"
  cp -r good.plim disk/a.plim
  sync -f disk/a.plim
  start disk/a.plim $options --memory "$least" --save-dir failing
  until_epoch 001 failing
  truncate -s 2M disk.img
  ends 6 "cannot read" "disk/a.plim/" "Input/output error"
  goes_on good.plim failing $options
else
  echo "not tried: a disk that fails (a loop device needs root)"
fi
exit 0
