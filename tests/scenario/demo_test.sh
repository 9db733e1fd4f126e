#!/bin/sh
# `plimsoll demo` shows the commands that it runs, leaves what they make, and stops where one fails.
. "$(dirname "$0")/lib.sh" "$@"

run plimsoll demo --scale 0.0005 --out here
expect 0 '$ plimsoll synth papers100M' '$ plimsoll import ogb here/papers-bin' '$ plimsoll inspect here/papers.plim'
[ -d here/papers.plim ] || fail "no store"
if has_training; then
  expect 0 "Test accuracy" "with them (sage)"
  [ -s here/predictions.npy ] || fail "no predictions"
else
  expect 0 "Training is left out"
fi
run plimsoll demo --scale 0.0005 --out here
expect 7 "here exists already" "--force"
# --force removes nothing that a demo has not made.
mkdir thesis
echo text >thesis/chapter
run plimsoll demo --scale 0.0005 --out thesis --force
expect 7 "thesis was not made by plimsoll demo" "--out"
[ "$(cat thesis/chapter)" = text ] || fail "it removed the user's file"
run plimsoll demo --scale 0.0005 --out thesis/chapter --force
expect 7 "thesis/chapter was not made by plimsoll demo"
ln -s thesis link
run plimsoll demo --scale 0.0005 --out link --force
expect 7 "link was not made by plimsoll demo"
touch here/old
run plimsoll demo --scale 0.0005 --out here --force
expect 0 '$ plimsoll inspect here/papers.plim'
[ ! -e here/old ] || fail "it kept the old folder"
run plimsoll demo --scale 2 --out there
expect 2 "--scale"
# The folder cannot be made.
: >file
run plimsoll demo --scale 0.0005 --out file/demo
expect 6 "file/demo"
