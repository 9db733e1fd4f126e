#!/bin/sh
# kill -9 in the middle leaves no store and no temporary files; the next run clears the rest away and works.
# SIGINT and SIGTERM clean up themselves and exit with 128 + signal. A run in the background writes to a file
# of its own, because `run` writes to `output`.
. "$(dirname "$0")/lib.sh"

start() {
  mkdir -p temp
  "$PLIMSOLL" synth papers100M --scale 0.03 --seed 1 --out a.plim --temp-dir temp --memory 400M "$@" \
    >under_way 2>&1 &
  pid=$!
  # Until it is in the middle of its work.
  tries=0
  while [ ! -e a.plim.partial ] && [ $tries -lt 1500 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  sleep "$delay"
}

for delay in 0.3 1.1; do
  start
  run plimsoll synth papers100M --scale 0.001 --out a.plim
  expect 7 "another run is writing"
  kill -KILL $pid || fail "it was over before it could be killed"
  wait $pid && fail "it was not killed"
  [ ! -e a.plim ] || fail "half a store under its final name"
  [ -z "$(ls temp)" ] || fail "temporary files are left: $(ls temp)"
done
run plimsoll inspect a.plim
expect 6 "there is no store a.plim"
run plimsoll synth papers100M --scale 0.001 --seed 1 --out a.plim
expect 0 "removed the remains of an interrupted run" "wrote a.plim"
[ ! -e a.plim.partial ] || fail "the remains are still there"
plimsoll inspect a.plim --verify --quiet >output 2>&1 || fail "the store is not whole"
before=$(cat a.plim/meta.json)

for signal in INT TERM HUP; do
  delay=0.5
  start --force
  kill -$signal $pid || fail "it was over before the signal"
  code=0
  wait $pid || code=$?
  mv under_way output
  case $signal in INT) expect 130 "signal 2" ;; TERM) expect 143 "signal 15" ;; HUP) expect 129 "signal 1" ;; esac
  [ ! -e a.plim.partial ] || fail "SIG$signal left the unfinished folder"
  [ "$(cat a.plim/meta.json)" = "$before" ] || fail "SIG$signal touched the store that was there"
done
