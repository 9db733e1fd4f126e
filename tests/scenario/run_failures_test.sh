#!/bin/sh
# Ways in which batches of experiments failed, each shown to be over. The tenth, energy, is in
# run_energy_test.sh.
. "$(dirname "$0")/run_lib.sh"

# 1: what a training leaves behind, deaf to SIGTERM, is ended before the next one starts.
write_settings '{"repo": "toy", "model": "leaver", "mode": "default"}'
run plimsoll run -ec settings.json
expect 0 "1 succeeded, 0 failed"
nothing_alive "a training's leftovers"
! grep -q '"leftovers_ended": 0' "$(newest)/toy_leaver_001/attempt_1/result.json" || fail "there was no leftover to end"

# A neighbour on the GPU: the same values again, once there is the room that it needs.
FAKE=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
if [ -f "$FAKE" ]; then
  crowd() {
    printf 'gpu GPU-failures-%s 10000 %s util=0\n' $$ "$1" >nvml.new
    mv nvml.new nvml
  }
  crowd 6000
  (sleep 1.5; crowd 100) &
  write_settings '{"repo": "toy", "model": "crowded", "mode": "default"}'
  run env PLIMSOLL_NVML="$FAKE" FAKE_NVML_STATE="$WORK/nvml" "$PLIMSOLL" run -ec settings.json
  expect 0 "gpu_memory_neighbour: the same values again" "1 succeeded"
  [ "$(column retries)" = 1 ] || fail "$(column retries) retries: the second attempt did not wait"
  wait
  rm -f /run/lock/plimsoll-GPU-failures-$$.lock /tmp/plimsoll-GPU-failures-$$.lock
fi

# 2: out of its own GPU memory: smaller, where the settings say how, and written down as what it was.
write_settings '{"repo": "toy", "model": "hungry", "mode": "default", "shrink": {"batch_size": 0.5, "min": 16}}'
run plimsoll run -ec settings.json
expect 0 "batch_size 32 instead of 64" "batch_size 16 instead of 32"
[ "$(column hyperparam_batch_size)" = 16 ] || fail "the summary does not say what it ran with"
[ "$(column retries)" = 2 ] || fail "two retries"
grep -q "batch 64" "$(newest)/toy_hungry_001/attempt_1/training.log" || fail "the first attempt's log is gone"
write_settings '{"repo": "toy", "model": "hungry", "mode": "default"}'
run plimsoll run -ec settings.json
expect 11 "no \`shrink\` says"

# 3: words in a log make no success.
write_settings '{"repo": "toy", "model": "roadmap", "mode": "default"}, {"repo": "toy", "model": "liar", "mode": "default"}'
run plimsoll run -ec settings.json
expect 11 "0 succeeded, 2 failed" "none of its metrics is in the log: loss" \
  "  > roadmap: to be implemented; see loss:" "  > loss: 0.1" "  log: $(newest)/toy_liar_002/training.log"
run plimsoll status
expect 0 "failed  toy_liar_002: failed with exit code 3" "  > loss: 0.1" "  log: $(newest)/toy_liar_002/training.log"
[ "$(column cause | tr '\n' ' ')" = "expectation_unmet failed " ] || fail "causes: $(column cause)"

# 4: a background load that is none is noticed, and the experiment is invalid.
parallel='{"mode": "parallel", "foreground": {"repo": "toy", "model": "long", "mode": "default"}, "background": {"repo": "toy", "model": '
write_settings "$parallel\"brief\"}}"
run plimsoll run -ec settings.json
expect 11 "the background load is not valid: it ended after" "(3 of 3 in a row)"
[ "$(column cause)" = background_invalid ] || fail "cause $(column cause)"
nothing_alive "a parallel experiment"

# 5: no key is ignored.
write_settings '{"comment": "a headline"}, {"repository": "toy", "model": "good", "mutate_params": ["epochs"], "num_mutations": 2, "baseline_runs": 1}'
run plimsoll run -ec settings.json
expect 0 "settings.json:1: warning: mutate_params is taken as mutate" "3 succeeded"
write_settings '{"repo": "toy", "model": "good", "mutat": ["epochs"]}'
run plimsoll run -ec settings.json
expect 3 "unknown key mutat in this entry; did you mean mutate?" "no experiment was started"
run plimsoll run -ec settings.json --lenient --dry-run
expect 0 "warning: unknown key mutat"

# 6: runs_per_config of a parallel entry.
write_settings '{"mode": "parallel", "runs_per_config": 3, "foreground": {"repo": "toy", "model": "slow", "mutate": ["epochs"]}, "background": {"repo": "toy", "model": "busy"}}'
run plimsoll run -ec settings.json
expect 0 "3 succeeded"
[ -f "$(newest)/toy_slow_003_parallel/experiment.json" ] || fail "the folder's name"
nothing_alive "background loads"

# 7: the table is there after every experiment, ids are unique across runs, and every row has the same
# columns.
write_settings '{"repo": "toy", "model": "good", "mode": "default", "runs_per_config": 2}, {"repo": "toy", "model": "long", "mode": "default"}'
"$PLIMSOLL" run -ec settings.json >driver.log 2>&1 &
driver=$!
until_prints "[2/3]" driver.log
kill -KILL $driver
wait $driver 2>/dev/null || true
[ "$(column training_success | grep -c True)" = 2 ] || fail "a crash has lost the table"
nothing_alive "a crash" 80
write_settings '{"repo": "toy", "model": "good", "mode": "default", "runs_per_config": 2}'
run plimsoll run -ec settings.json
one=$(newest)
run plimsoll run -ec settings.json
run plimsoll results "$one" --csv --merge "$(newest)"
expect 0
[ "$(tail -n +2 output | cut -d, -f1 | sort -u | wc -l)" = 4 ] || fail "ids are not unique"
cp output merged
run plimsoll results "$one" "$(newest)" "$one/" --csv --merge "$(newest)"
expect 0
cmp -s output merged || fail "several runs, one of them twice, are another table than --merge's"
run plimsoll results "$(newest)"
cp output of_newest
run plimsoll results
expect 0 "2 experiments: 2 succeeded"
cmp -s output of_newest || fail "without RUN, results does not take the newest"
run plimsoll status
expect 0 "$(newest): finished"
run plimsoll results --csv --json
expect 2 "--csv and --json"
mkdir -p elsewhere
code=0
(cd elsewhere && "$PLIMSOLL" status >../output 2>&1) || code=$?
expect 2 "there is no run under"

# 8: numbers are compared as numbers, and given as they are written down. 9: any notation.
run plimsoll run -r toy -m good -mt epochs,learning_rate -n 3 -s 42
expect 0 "3 succeeded"
for folder in "$(newest)"/toy_good_*; do
  rate=$(sed -n 's/.*rate \([^ ]*\) .*/\1/p' "$folder/training.log")
  column hyperparam_learning_rate | grep -xF -- "$rate" >/dev/null || fail "rate $rate is not what the summary says"
done
head -n 1 "$(newest)/summary.csv" | grep -q perf_loss || fail "no metric"
python3 - "$(newest)" <<'END' || fail "metrics"
import csv, sys
for row in csv.DictReader(open(sys.argv[1] + "/summary.csv")):
    assert float(row["perf_loss"]) == float(row["hyperparam_epochs"] + "e-05"), row
END
printf 'experiment_id,repository,model,hyperparam_epochs\na,toy,good,1.000000\nb,toy,good,2\n' >past.csv
sed 's/\[1, 500\]/[1, 3]/' models_config.json >few.json
write_settings '{"repo": "toy", "model": "good", "mutate": ["epochs"]}' '"use_deduplication": true, "historical_csvs": ["past.csv"]'
run plimsoll run -ec settings.json -c few.json
expect 3 "asks for 1 combination, none is left:" "no combination is left: there is nothing to run"

# 11: a timeout; a missing module is not tried again; Ctrl-C has its exit code.
write_settings '{"repo": "toy", "model": "long", "mode": "default", "timeout": 0.5}, {"repo": "toy", "model": "missing", "mode": "default"}'
run plimsoll run -ec settings.json
expect 11 "timed_out twice" "missing_dependency: it would end the same way again"
! grep -q "after [0-9.]* s in" output || fail "the time twice: $(cat output)"
[ "$(column retries | tr '\n' ' ')" = "1 0 " ] || fail "retries $(column retries)"
run plimsoll results
expect 0 "2 experiments: 0 succeeded, 2 failed (missing_dependency 1, timed_out 1)" "0 of 1"
! grep -q "not measured" output || fail "failed runs were measured as all others are"
write_settings '{"repo": "toy", "model": "diverged", "mode": "default"}'
run plimsoll run -ec settings.json
expect 0
run plimsoll results
expect 0 "nan"
write_settings '{"repo": "toy", "model": "missing", "mode": "default", "runs_per_config": 9}'
run plimsoll run -ec settings.json
expect 12 "paused: five failures in a row with the same cause" "4 left" "--retry-failed" "--keep-going"
run plimsoll status "$(newest)"
expect 0 "paused: five failures in a row with the same cause: missing_dependency" "--retry-failed"
run plimsoll run --resume "$(newest)" --keep-going
expect 11 "0 succeeded, 9 failed, 0 left"
run plimsoll status "$(newest)"
expect 0 "finished" "run the failed ones again"
! grep -q paused output || fail "a finished batch is said to be paused"
run plimsoll run -ec settings.json --keep-going
expect 11 "0 succeeded, 9 failed, 0 left" "--retry-failed"
# The cause is gone: what failed runs again, with its values and ids, also where the driver is killed right
# after the reopening.
run plimsoll run -ec settings.json --retry-failed
expect 2 "--retry-failed needs --resume"
write_settings '{"repo": "toy", "model": "good", "mode": "default", "runs_per_config": 2}, {"repo": "toy", "model": "cured", "mutate": ["epochs"], "runs_per_config": 7}'
run plimsoll run -ec settings.json
expect 12 "2 succeeded, 5 failed, 2 left"
column experiment_id >ids
column hyperparam_epochs >epochs
touch repos/toy/cure
i=0
while [ $i -lt 4 ]; do
  "$PLIMSOLL" run --resume "$(newest)" --retry-failed >output 2>&1 &
  driver=$!
  sleep "0.0$((2 + 3 * i))"
  kill -KILL $driver 2>/dev/null || true
  wait $driver 2>/dev/null || true
  i=$((i + 1))
done
nothing_alive "drivers that were killed" 80
run plimsoll run --resume "$(newest)" --retry-failed
expect 0 "9 succeeded, 0 failed, 0 left"
[ "$(column experiment_id | sed -n 1,7p)" = "$(cat ids)" ] || fail "other ids"
[ "$(column hyperparam_epochs | sed -n 1,7p)" = "$(cat epochs)" ] || fail "other values"
[ "$(column retries | sort -u)" = 0 ] || fail "attempts from before count as retries"
python3 - "$(newest)/toy_cured_003/experiment.json" <<'END' || fail "attempts of a reopened experiment"
import json, sys
attempts = json.load(open(sys.argv[1]))["attempts"]
assert len(attempts) > 1 and attempts[0]["cause"] == "missing_dependency", attempts
assert [attempt["counts"] for attempt in attempts] == [False] * (len(attempts) - 1) + [True], attempts
END
run plimsoll run --resume "$(newest)" --retry-failed
expect 0 "no experiment has failed"
# Output is in the log while the training runs, whatever it holds in memory.
write_settings '{"repo": "toy", "model": "long", "mode": "default"}'
"$PLIMSOLL" run -ec settings.json >output 2>&1 &
driver=$!
tries=0
until grep -qs "loss: 1" "$(newest)/toy_long_001/attempt_1/training.log"; do
  tries=$((tries + 1))
  [ $tries -lt 1500 ] || fail "the log is empty while the training runs"
  sleep 0.1
done
kill -TERM $driver
code=0
wait $driver || code=$?
[ $code = 143 ] || fail "exit code $code after SIGTERM"
nothing_alive "SIGTERM"

write_settings '{"repo": "toy", "model": "slow", "mode": "default", "runs_per_config": 5}'
env --default-signal=INT "$PLIMSOLL" run -ec settings.json >output 2>&1 &
driver=$!
sleep 0.6
kill -INT $driver
code=0
wait $driver || code=$?
expect 130 "resume with"
# 12: resume.
run plimsoll run --resume "$(newest)"
expect 0 "5 succeeded"
[ "$(column experiment_id | sort -u | wc -l)" = 5 ] || fail "resume repeated something"
write_settings '{"repo": "toy", "model": "long", "mode": "default"}'
env --default-signal=INT "$PLIMSOLL" run -ec settings.json >output 2>&1 &
driver=$!
sleep 0.6
kill -INT $driver
sleep 0.2
run plimsoll run --resume "$(newest)"
expect 7 "another plimsoll run is using"
run plimsoll results
expect 0 "nothing has finished yet; experiments left: 1"
run plimsoll status "$(newest)"
expect 0 "running" "toy_long_001 | " "> loss: 1" "1 left; time left: unknown"
kill -INT $driver
code=0
wait $driver || code=$?
[ $code = 130 ] || fail "exit code $code after the second Ctrl-C"
nothing_alive "after two Ctrl-C"
