#!/bin/sh
# Several experiments at once, with early stopping: the table equals that of one at a time, also after kill -9
# at random moments, and nothing is left running. PLIMSOLL_KILLS=50 for the whole of it, PLIMSOLL_SEED for the
# moments of a run that failed.
. "$(dirname "$0")/run_lib.sh"
kills=${PLIMSOLL_KILLS:-6}
seed=${PLIMSOLL_SEED:-$$}
mkdir repos/curve
cat >repos/curve/train.sh <<'TRAIN'
#!/bin/sh
# train.sh -l LEVEL: nine steps towards LEVEL %, the higher the faster.
level=$2 step=1
while [ $step -le 9 ]; do
  sleep 0.04
  echo "step $step loss: $((1000 - level * step))"
  awk "BEGIN {printf \"accuracy: %.4f\n\", $level / 100 * (1 - exp(-$step / 4))}"
  step=$((step + 1))
done
TRAIN
chmod +x repos/curve/train.sh
cat >curve.json <<'CONFIG'
{"models": {"curve": {"path": "repos/curve", "train_script": "./train.sh",
  "supported_hyperparams": {"level": {"flag": "-l", "type": "int", "default": 50, "range": [1, 99]}},
  "performance_metrics": {"log_patterns": {"accuracy": "accuracy: ([0-9.]+)", "loss": "loss: ([0-9.]+)"}}}}}
CONFIG
write_settings '{"repo": "curve", "mutate": ["level"], "settings": 16, "baseline_runs": 1}' \
  '"objective": {"metric": "accuracy", "goal": "max"}, "stop": "asha", "order": "random"'
run plimsoll run -ec settings.json -c curve.json --dry-run
expect 0 "stop  asha by accuracy, higher is better: at a tenth of the first training, and at 2 and 4 times as many steps, the best 1/2 so far continue"
run plimsoll run -ec settings.json -c curve.json -s 7
expect 0 "stopped early" "0 failed, 0 left" "reported accuracy 9 times, so asha decides from step 1 on"
table "$(newest)" >one_at_a_time
python3 - "$(newest)" <<'END' || fail "what was stopped"
import csv, json, glob, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
stopped = [row for row in rows if row["cause"] == "stopped_early"]
assert len(stopped) >= 8, len(stopped)
assert all(row["training_success"] == "False" and row["stopped_at_step"] in ("1", "2", "4", "8") for row in stopped)
for row in stopped:  # the figures are those of the step
    assert float(row["perf_loss"]) == 1000 - int(row["hyperparam_level"]) * int(row["stopped_at_step"]), row
best = max(rows, key=lambda row: int(row["hyperparam_level"]))
assert best["cause"] == "success" and best["steps"] == "9", best
assert sum(int(row["steps"]) for row in rows) < 0.6 * 9 * len(rows)
assert all(row["jobs_beside"] == "0" for row in rows)
for name in glob.glob(sys.argv[1] + "/*/experiment.json"):
    made = json.load(open(name))
    assert (made["stop"] is not None) == (made["cause"] == "stopped_early"), made
    assert made["error_message"] == "", made
END
run plimsoll status "$(newest)"
expect 0 "finished"
sleep 1.1

run plimsoll run -ec settings.json -c curve.json -s 7 --jobs 4
expect 0 "stopped early" "0 failed, 0 left"
table "$(newest)" >four_at_once
cmp -s one_at_a_time four_at_once || fail "four at once: $(diff one_at_a_time four_at_once)"
[ "$(column jobs_beside | sort -n | tail -n 1)" = 3 ] || fail "beside: $(column jobs_beside)"
sleep 1.1

kill_and_resume "$kills" "$seed" -ec settings.json -c curve.json -s 7 --jobs 4
expect 0 "0 failed, 0 left"
nothing_alive "after $kills kills"
table "$(newest)" >disturbed
cmp -s one_at_a_time disturbed || fail "the tables differ (PLIMSOLL_SEED=$seed): $(diff one_at_a_time disturbed)"
echo "$landed of $kills kills met a driver; seed $seed"
[ "$landed" -gt $((kills / 3)) ] || fail "the batch was over before it was killed"
sleep 1.1

# Memory: what does not fit together runs one after the other. A share for those that say nothing.
write_settings '{"repo": "toy", "model": "slow", "mutate": ["epochs"], "settings": 3, "memory": "600M"}'
run plimsoll run -ec settings.json --jobs 3 --memory 1G
expect 0 "3 succeeded"
[ "$(column jobs_beside | sort -u)" = 0 ] || fail "600 MiB twice in 1 GiB: $(column jobs_beside)"
sleep 1.1
write_settings '{"repo": "toy", "model": "slow", "mutate": ["epochs"], "settings": 3}'
run plimsoll run -ec settings.json --jobs 3 --memory 1G
expect 0 "3 succeeded"
[ "$(column jobs_beside | sort -u)" != 0 ] || fail "three do not run at once"
grep -q "^memory: 341.3 MiB for each of 3 experiments at once, an equal share of 1.0 GiB (--memory)" output || fail "the share is not said: $(cat output)"
# Without --memory, they share what the machine allows; each is told its share.
printf '#!/bin/sh\necho "told $PLIMSOLL_MEMORY_LIMIT"\necho "loss: 0.5"\n' >repos/toy/told.sh
chmod +x repos/toy/told.sh
sed 's/train.sh/told.sh/' models_config.json >told.json
write_settings '{"repo": "toy", "model": "good", "mutate": ["epochs"], "settings": 2}'
sleep 1.1
run plimsoll run -ec settings.json -c told.json --jobs 2
expect 0 "2 succeeded" "for each of 2 experiments at once, an equal share of" "; --memory sets another limit)"
told=$(cat "$(newest)"/toy_good_00?/training.log | sed -n 's/^told \([0-9][0-9]*\)$/\1/p' | sort -u)
[ "$(echo "$told" | wc -w)" = 1 ] || fail "the shares: $told"
[ "$told" -le $(($(awk '/^MemTotal/ {print $2}' /proc/meminfo) * 512)) ] || fail "a share of $told is more than half of the machine"
sleep 1.1
run plimsoll run -ec settings.json -c told.json
! grep -q "^memory:" output || fail "one alone shares nothing"
write_settings '{"repo": "toy", "model": "good", "mode": "default", "memory": "8G"}'
run plimsoll run -ec settings.json --memory 1G
expect 2 "settings.json:1: the memory of toy is 8.0 GiB, more than --memory 1.0 GiB of all experiments; raise --memory"

# SIGTERM ends all of them.
write_settings '{"repo": "toy", "model": "long", "mode": "default", "runs_per_config": 3}'
sleep 1.1
"$PLIMSOLL" run -ec settings.json --jobs 2 >output 2>&1 &
driver=$!
sleep 1
kill -TERM $driver
code=0
wait $driver || code=$?
expect 143 "0 succeeded, 0 failed, 3 left" "--resume"
nothing_alive "after SIGTERM"

run plimsoll run -ec settings.json --jobs 0
expect 2 "--jobs"
# Rules that can stop nothing: said before the batch where epochs are known, else after the first training.
sed 's/"level": {/"epochs": {"flag": "-e", "type": "int", "default": 9}, &/' curve.json >epochs.json
write_settings '{"repo": "curve", "mutate": ["level"], "settings": 2, "stop": {"policy": "asha", "min_steps": 20}, "objective": {"metric": "accuracy", "goal": "max"}}'
run plimsoll run -ec settings.json -c epochs.json --dry-run
expect 0 "settings.json:1: warning: stop: min_steps is 20, and no training has more than 9 epochs"
run plimsoll run -ec settings.json -c curve.json
expect 0 "reported accuracy 9 times, so nothing is stopped early: min_steps is 20; lower it or leave it out" "2 succeeded"
write_settings '{"repo": "curve", "mutate": ["level"], "stop": "asha"}'
run plimsoll run -ec settings.json -c curve.json --dry-run
expect 3 "curve: stop needs an objective"
write_settings '{"repo": "curve", "mutate": ["level"], "stop": "hyperband", "objective": {"metric": "acc", "goal": "max"}}'
run plimsoll run -ec settings.json -c curve.json --dry-run
expect 3 'stop must be "asha", "median"' "log_patterns has no pattern for the metric acc"
