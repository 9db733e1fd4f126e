#!/bin/sh
# A training beside another: started again when it ends, watched while it runs, and gone with the one it runs
# beside.
. "$(dirname "$0")/run_lib.sh"
# beside BACKGROUND-MODEL [KEYS OF THE BACKGROUND [KEYS OF THE ENTRY]]: the settings of one experiment.
beside() {
  write_settings "{\"mode\": \"parallel\"${3:+, $3}, \"foreground\": {\"repo\": \"toy\", \"model\": \"seconds\", \"mode\": \"default\"},
    \"background\": {\"repo\": \"toy\", \"model\": \"$1\"${2:+, $2}}}"
}
background_of() {
  sed -n 's/^    "runs": \([0-9]*\).*/\1/p' "$(newest)/toy_seconds_001_parallel/experiment.json"
}

# An immediate exit, three times: the experiment is invalid, and not tried again.
beside brief
run plimsoll run -ec settings.json
expect 11 "the background load is not valid: it ended after" "(3 of 3 in a row)"
[ "$(column cause)" = background_invalid ] || fail "cause $(column cause)"
[ "$(column retries)" = 0 ] || fail "an invalid experiment was tried again"
nothing_alive "a load that ended at once"

# It runs, and does nothing.
beside long '"idle_timeout": 0.4'
run plimsoll run -ec settings.json
expect 11 "the background load is not valid: it used 0.0 s of CPU and no GPU in 0." "three times"
[ "$(column cause)" = background_invalid ] || fail "cause $(column cause)"
! grep -q "asked to stop" "$(newest)/toy_seconds_001_parallel/experiment.json" || fail "evidence that misleads"
nothing_alive "an idle load"

# A failing one.
beside liar
run plimsoll run -ec settings.json
expect 11 "the background load is not valid: it ended with failed"

# A load: nothing is said, it is there all the time, deaf to SIGTERM or not, and gone at the end.
beside busy '"idle_timeout": 0.4'
run plimsoll run -ec settings.json
expect 0 "1 succeeded"
! grep -q "background load" output || fail "a load was taken for none"
[ "$(background_of)" = 1 ] || fail "the load was started $(background_of) times"
nothing_alive "a load"
beside deaf
run plimsoll run -ec settings.json
expect 0 "1 succeeded"
nothing_alive "a load that does not listen"

# No CPU, but a GPU that it holds: busy, it is a load; idle, it is none. (In a pid namespace it does not know
# its own pid.)
FAKE=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
if [ -f "$FAKE" ] && [ "$(levels 2>/dev/null | head -n 1)" != pidns ]; then
  for share in 50 0; do
    printf 'gpu GPU-parallel-%s 10000 500 util=%s\n' $$ $share >nvml
    beside device '"idle_timeout": 0.4'
    run env PLIMSOLL_NVML="$FAKE" FAKE_NVML_STATE="$WORK/nvml" "$PLIMSOLL" run -ec settings.json
    case $share in
      50) expect 0 "1 succeeded" ;;
      0) expect 11 "the background load is not valid: it used 0.0 s of CPU and no GPU" ;;
    esac
  done
  rm -f /run/lock/plimsoll-GPU-parallel-$$.lock /tmp/plimsoll-GPU-parallel-$$.lock
fi

# Ended by its own time limit it is started again, no more often than allowed.
beside busy '"timeout": 0.3' '"background_max_runs": 2'
run plimsoll run -ec settings.json
expect 0 "the background load has had its 2 runs; the experiment continues alone"
[ "$(background_of)" = 2 ] || fail "the load was started $(background_of) times"
for n in 1 2; do
  [ -f "$(newest)/toy_seconds_001_parallel/attempt_1/background/run_$n/training.log" ] || fail "no log of the load's run $n"
done

# Different loads are told apart; columns that were there before have not moved.
one='{"mode": "parallel", "foreground": {"repo": "toy", "model": "slow", "mode": "default"}, "background": {"repo": "toy", "model":'
write_settings "$one \"busy\"}}, $one \"busy\", \"hyperparameters\": {\"epochs\": 7}}}, $one \"deaf\"}}, {\"repo\": \"toy\", \"model\": \"slow\", \"mode\": \"default\"}"
run plimsoll run -ec settings.json
expect 0 "4 succeeded"
[ "$(column background_model | tr '\n' ' ')" = "busy busy deaf  " ] || fail "background_model $(column background_model)"
[ "$(column background_repository | tr '\n' ' ')" = "toy toy toy  " ] || fail "background_repository"
[ "$(column background_runs | tr '\n' ' ')" = "1 1 1  " ] || fail "background_runs $(column background_runs)"
head -n 1 "$(newest)/summary.csv" | grep -q 'energy_note,background_repository,background_model,background_runs,configuration,repeat,listed,steps,stopped_at_step,jobs_beside$' || fail "new columns are not the last"
run plimsoll results "$(newest)"
expect 0 "toy/slow, 4 experiments" "toy/busy (epochs 3, " "toy/busy (epochs 7, " "toy/deaf (" "the same in all: epochs 3"

# Its driver is killed: nothing of either is left.
beside busy
"$PLIMSOLL" run -ec settings.json >output 2>&1 &
driver=$!
sleep 1
[ -n "$(alive)" ] || fail "nothing runs"
kill -KILL $driver
wait $driver 2>/dev/null || true
nothing_alive "the driver was killed" 80
