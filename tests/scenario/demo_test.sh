#!/bin/sh
# `plimsoll demo` shows the commands that it runs, leaves what they make, and stops where one fails.
. "$(dirname "$0")/lib.sh" "$@"

run plimsoll demo --scale 0.0005 --out here
expect 0 '$ plimsoll synth papers100M' '$ plimsoll import ogb here/papers-bin' '$ plimsoll inspect here/papers.plim'
[ -d here/papers.plim ] || fail "no store"
if [ -e "$(dirname "$PLIMSOLL")/libplimsoll_train.so" ]; then
  expect 0 "Test accuracy" "with them (sage)"
  [ -s here/predictions.npy ] || fail "no predictions"
else
  expect 0 "Training is left out"
fi
run plimsoll demo --scale 0.0005 --out here
expect 7 "here exists already" "--force"
run plimsoll demo --scale 2 --out there
expect 2 "--scale"
# The folder cannot be made.
: >file
run plimsoll demo --scale 0.0005 --out file/demo
expect 6 "file/demo"
