#!/bin/sh
# train, predict and precompute with --verify notice a file that was changed in place, which a size does not
# tell.
. "$(dirname "$0")/lib.sh"
needs_training

plimsoll synth --nodes 2000 --edges 10000 --classes 4 --features 8 --seed 3 --out a.plim --quiet
train() {
  run plimsoll train a.plim --model sage --fanout 3,3 --hidden 8 --device cpu "$@"
}
train --epochs 1 --save-dir models --verify
expect 0 "all 9 files match their checksums" "Epoch 001"
run plimsoll predict a.plim --checkpoint models/best.pth --out p.npy --device cpu --verify
expect 0 "all 9 files match their checksums"
train --epochs 1 --save-dir quiet --verify --quiet
expect 0
grep -q "match their checksums" output && fail "--quiet is not quiet"

printf X | dd of=a.plim/features.f16 bs=1 seek=100 conv=notrunc 2>/dev/null
cp models/last.pth before.pth
run plimsoll train a.plim --resume models --epochs 2 --device cpu --verify
expect 8 "a.plim/features.f16 has checksum" "meta.json says"
cmp -s before.pth models/last.pth || fail "the checkpoint was touched"
train --epochs 1 --save-dir other --verify
expect 8 "a.plim/features.f16"
[ ! -e other ] || fail "a folder for nothing"
run plimsoll predict a.plim --checkpoint models/best.pth --out q.npy --device cpu --verify
expect 8 "a.plim/features.f16"
[ ! -e q.npy ] || fail "something was predicted"
run plimsoll precompute a.plim --out sums.plim --verify
expect 8 "a.plim/features.f16"
[ ! -e sums.plim ] || fail "something was summed"

# Another store under the same name is noticed without it: a checkpoint keeps the checksums that meta.json
# lists.
plimsoll synth --nodes 2000 --edges 10000 --classes 4 --features 8 --seed 4 --out a.plim --quiet --force
run plimsoll train a.plim --resume models --epochs 2 --device cpu
expect 3 "checksum" "resume on the same store"
