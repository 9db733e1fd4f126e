#!/bin/sh
# Two drivers: one for a run folder, and one for a GPU, whoever they belong to. The second refuses, or waits.
. "$(dirname "$0")/run_lib.sh"
FAKE=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
write_settings '{"repo": "toy", "model": "seconds", "mode": "default"}'

# started COMMAND...: a driver in the background, once its training runs; its pid is in $driver.
started() {
  "$@" >driver.log 2>&1 &
  driver=$!
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    [ -z "$(alive)" ] || return 0
    sleep 0.2
  done
  cat driver.log >&2
  fail "the driver has started nothing"
}

started "$PLIMSOLL" run -ec settings.json
run plimsoll run --resume "$(newest)"
expect 7 "another plimsoll run is using" "--wait waits for it"
run plimsoll run --resume "$(newest)" --wait
expect 0 "waiting: another plimsoll run is using" "1 succeeded"
wait $driver || fail "the first driver failed"
[ "$(find "$(newest)" -name 'attempt_*' -type d | wc -l)" = 1 ] || fail "the second driver repeated it"

[ -f "$FAKE" ] || skip "no fake NVML beside plimsoll: GPUs are not tested"
printf 'gpu GPU-scenario-%s 10000 0 util=0\ngpu GPU-other-%s 10000 0 util=0\n' $$ $$ >nvml
export PLIMSOLL_NVML="$FAKE" FAKE_NVML_STATE="$PWD/nvml"
started "$PLIMSOLL" run -ec settings.json --gpu 0
run plimsoll run -ec settings.json --results elsewhere --gpu 0
expect 7 "another plimsoll run is using GPU 0; --wait waits for it"
[ ! -d elsewhere ] || fail "who was refused has left a folder"
run env XDG_STATE_HOME="$PWD/another" HOME=/nonexistent "$PLIMSOLL" run -ec settings.json --results elsewhere
expect 7 "another plimsoll run is using GPU 0"
run plimsoll run -r toy -m good -mt epochs --results elsewhere --gpu 1
expect 0 "1 succeeded"
run plimsoll run -r toy -m good -mt epochs --results elsewhere --gpu 0 --wait
expect 0 "waiting: another plimsoll run is using GPU 0" "1 succeeded"
wait $driver || fail "the first driver failed"
# Killed, it holds nothing any more.
started "$PLIMSOLL" run -ec settings.json --gpu 0
kill -KILL $driver
wait $driver 2>/dev/null || true
run plimsoll run -r toy -m good -mt epochs --results elsewhere --gpu 0
expect 0 "1 succeeded"
nothing_alive "the driver was killed" 80
rm -f /run/lock/plimsoll-GPU-*-$$.lock /tmp/plimsoll-GPU-*-$$.lock
