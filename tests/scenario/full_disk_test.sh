#!/bin/sh
# A disk too small is refused before anything is written; one that fills up in the middle ends the run with
# nothing left, and a rerun works.
. "$(dirname "$0")/lib.sh"

mkdir disk
mount -t tmpfs -o size=120m tmpfs disk 2>/dev/null || skip "cannot mount a small disk (needs root)"
trap 'umount disk; cleanup' EXIT

run plimsoll synth papers100M --scale 0.01 --out disk/a.plim
expect 5 "need up to" "120.0 MiB are free"
[ -z "$(ls disk)" ] || fail "something was written: $(ls disk)"

# Temporary files elsewhere, the store alone would fit, but the disk fills up meanwhile.
umount disk
mount -t tmpfs -o size=600m tmpfs disk
"$PLIMSOLL" synth papers100M --scale 0.01 --out disk/a.plim --temp-dir . >output 2>&1 &
pid=$!
while [ ! -e disk/a.plim.partial ]; do sleep 0.02; done
fallocate -l 560m disk/filler 2>/dev/null || dd if=/dev/zero of=disk/filler bs=1M count=560 2>/dev/null || true
code=0
wait $pid || code=$?
expect 5 "No space left on device"
rm disk/filler
[ -z "$(ls disk)" ] || fail "a half store is left: $(ls disk)"
run plimsoll synth papers100M --scale 0.01 --out disk/a.plim --temp-dir .
expect 0 "wrote disk/a.plim"
