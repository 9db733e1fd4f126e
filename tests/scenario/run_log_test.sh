#!/bin/sh
# --log of a batch: each experiment's curve as history.csv and TensorBoard's events, and for the whole batch
# experiments.jsonl, metrics.prom and a journal that the real Optuna opens. Kills and resumes leave each
# experiment once.
. "$(dirname "$0")/run_lib.sh"
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || skip "no /usr/bin/python3 to read the logs with"
write_settings '{"repo": "toy", "model": "good", "mutate": ["epochs", "learning_rate"], "runs_per_config": 3},
  {"repo": "toy", "model": "slow", "mutate": ["epochs"], "runs_per_config": 4}, {"repo": "toy", "model": "liar"}' '"max_retries": 0'
all=tensorboard,csv,jsonl,prometheus,optuna

cat >check.py <<'PYTHON'
import csv, json, pathlib, subprocess, sys
folder, reader, finished = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rows = {row["experiment_id"]: row for row in csv.DictReader(open(folder / "summary.csv"))}
assert len(rows) == finished, rows
lines = [json.loads(line) for line in open(folder / "experiments.jsonl")]
assert sorted(line["experiment_id"] for line in lines) == sorted(rows), lines
for id, row in rows.items():
    place = folder / id.split("__")[1]
    found = [one.strip().split(": ")[1] for one in open(place / "training.log") if one.startswith("loss: ")]
    table = list(csv.DictReader(open(place / "history.csv")))
    assert [float(one["loss"]) for one in table] == [float(one) for one in found], (place, table, found)
    events = subprocess.run([sys.executable, reader, place], capture_output=True, text=True)
    if events.returncode == 77:
        continue
    assert events.returncode == 0, events.stderr
    scalars = [one.split() for one in events.stdout.splitlines() if one[0].isdigit()]
    assert [int(one[0]) for one in scalars] == list(range(1, len(found) + 1)), scalars
    assert f"  value epochs {float(row['hyperparam_epochs'])}" in events.stdout, events.stdout
    assert "  status %d" % (1 if row["training_success"] == "True" else 2) in events.stdout, events.stdout
prom = open(folder / "metrics.prom").read()
good = sum(row["training_success"] == "True" for row in rows.values())
assert 'state="succeeded"} %d\n' % good in prom, prom
try:
    import warnings
    warnings.simplefilter("ignore")
    import optuna
except ImportError:
    sys.exit(0)
optuna.logging.set_verbosity(optuna.logging.ERROR)
copy = folder / "copy_for_optuna.log"  # it locks beside the file
copy.write_bytes((folder / "optuna.log").read_bytes())
storage = optuna.storages.JournalStorage(optuna.storages.JournalFileStorage(str(copy)))
(study_name,) = [one.study_name for one in optuna.study.get_all_study_summaries(storage)]
study = optuna.load_study(study_name=study_name, storage=storage)
assert study.direction == optuna.study.StudyDirection.MINIMIZE
assert len(study.trials) == finished
for trial in study.trials:
    row = rows[trial.user_attrs["experiment_id"]]
    complete = row["training_success"] == "True"
    assert trial.state == (optuna.trial.TrialState.COMPLETE if complete else optuna.trial.TrialState.FAIL), trial
    if complete:
        assert trial.value == float(row["perf_loss"]), (trial, row)
        trial._validate()
    for name in ("epochs", "learning_rate", "batch_size"):
        assert trial.params[name] == float(row["hyperparam_" + name]), (trial, row)
        assert trial.distributions[name]._contains(trial.distributions[name].to_internal_repr(trial.params[name]))
    assert isinstance(trial.distributions["epochs"], optuna.distributions.IntDistribution)
    assert trial.distributions["learning_rate"].log
    assert trial.datetime_complete >= trial.datetime_start
    assert max(trial.intermediate_values) == len(trial.intermediate_values) > 0
best = min(float(row["perf_loss"]) for row in rows.values() if row["training_success"] == "True")
assert study.best_value == best
PYTHON
check() {
  run $PYTHON check.py "$1" "$TESTS/scenario/tensorboard_events.py" 8
  [ "$code" -eq 0 ] || fail "the logs of $1"
}

run plimsoll run -ec settings.json -s 7 --log $all
expect 11 "7 succeeded, 1 failed, 0 left"
check "$(newest)"
grep -q 'state="finished"} 1' "$(newest)/metrics.prom" || fail "not finished: $(cat "$(newest)/metrics.prom")"
cp "$(newest)/optuna.log" whole.log

# Killed at some moment, with half a line at the end of the files, and resumed: --log is remembered.
first=$(newest)
sleep 1.1
"$PLIMSOLL" run -ec settings.json -s 7 --log $all >output 2>&1 &
driver=$!
tries=0
until [ "$(newest)" != "$first" ] && [ -e "$(newest)/toy_slow_004/history.csv" ]; do
  tries=$((tries + 1))
  [ $tries -lt 3000 ] || fail "no history of the first slow experiment"
  sleep 0.02
done
kill -KILL $driver
wait $driver 2>/dev/null || true
for file in optuna.log experiments.jsonl; do truncate -s -7 "$(newest)/$file"; done
run plimsoll run --resume "$(newest)"
expect 11 "7 succeeded, 1 failed, 0 left"
check "$(newest)"
[ "$(wc -l <"$(newest)/optuna.log")" = "$(wc -l <whole.log)" ] || fail "Optuna's journal has other lines than that of a whole run"

# Asked for after the end: made from the journal and the training logs.
sleep 1.1
run plimsoll run -ec settings.json -s 7
expect 11
[ ! -e "$(newest)/optuna.log" ] || fail "a log that nobody asked for"
run plimsoll run --resume "$(newest)" --log $all
expect 11 "nothing left to do"
check "$(newest)"

run plimsoll run -ec settings.json --log csv,mlflow
expect 2 "'mlflow' is not a log" "optuna"
exit 0
