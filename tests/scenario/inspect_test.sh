#!/bin/sh
# inspect describes a store to people and to scripts, and finds a damaged one.
. "$(dirname "$0")/lib.sh"

plimsoll synth papers100M --scale 0.0005 --seed 3 --out a.plim --quiet
run plimsoll inspect a.plim
expect 0 "55,530" "In-degree" "172 classes" "train" "hot first, by expected visits" \
  "Hotness: the first 10 % of the rows get"
run plimsoll inspect a.plim --verify
expect 0 "9 files match their checksums"
plimsoll inspect a.plim --json >json 2>/dev/null
head -c 1 json | grep -q '{' || fail "--json does not print an object"
grep -q '"nodes": 55530' json || fail "no node count in the JSON"
plimsoll inspect a.plim | head -1 >/dev/null || fail "a reader that goes away is an error"

# One flipped byte in each file is found by --verify, with both checksums.
for file in a.plim/*.*; do
  case $file in *.json) continue ;; esac
  cp -r a.plim damaged.plim
  at=$(($(stat -c %s "$file") / 2))
  byte=$(od -An -tu1 -j "$at" -N 1 "$file")
  # shellcheck disable=SC2059
  printf "\\$(printf %o $((byte ^ 1)))" |
    dd of="damaged.plim/$(basename "$file")" bs=1 seek="$at" conv=notrunc 2>/dev/null
  run plimsoll inspect damaged.plim --verify
  expect 8 "$(basename "$file") has checksum" "meta.json says"
  rm -r damaged.plim
done

truncate -s -4 a.plim/labels.i32
run plimsoll inspect a.plim
expect 8 "labels.i32 has 222116 bytes, meta.json says 222120"
sed -i 's/"version": 1/"version": 99/' a.plim/meta.json
run plimsoll inspect a.plim
expect 8 "version 99"
echo '{' >a.plim/meta.json
run plimsoll inspect a.plim
expect 8 "meta.json does not describe a Plimsoll store"
rm a.plim/meta.json
run plimsoll inspect a.plim
expect 8 "it has no meta.json"
