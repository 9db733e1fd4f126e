#!/bin/sh
# What a batch answers: one table, best first, over repeats that differ in their seed; comparisons; the cause
# of a failure.
. "$(dirname "$0")/run_lib.sh"
cat >repos/toy/train.sh <<'END'
#!/usr/bin/env python3
import random, sys
args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rate, seed = float(args["--lr"]), int(args["-s"])
random.seed(int(rate * 1000) * 100 + seed)
if rate > 0.05 and seed == 3:
    raise RuntimeError("shape mismatch")
print("accuracy: %.6f" % (0.9 - rate + random.uniform(-0.01, 0.01)))
print("eval_loss: %.6f" % (0.4 + random.uniform(-0.01, 0.01)))
END
cat >models_config.json <<'END'
{"models": {"toy": {"path": "repos/toy", "train_script": "./train.sh", "models": ["default"], "supported_hyperparams": {
  "learning_rate": {"flag": "--lr", "type": "float", "default": 0.01, "range": [0.001, 0.2]},
  "batch_size": {"flag": "-b", "type": "int", "default": 64}, "seed": {"flag": "-s", "type": "int", "default": 0, "range": [0, 99]}},
  "performance_metrics": {"log_patterns": {"accuracy": "accuracy: ([0-9.]+)", "eval_loss": "eval_loss: ([0-9.]+)"}}}}}
END
entries=""
for rate in 0.1 0.01; do
  for seed in 1 2 3 4 5; do
    entries="$entries${entries:+, }{\"repo\": \"toy\", \"mode\": \"default\", \"hyperparameters\": {\"learning_rate\": $rate, \"seed\": $seed}}"
  done
done
write_settings "$entries"
run plimsoll run -ec settings.json
expect 11 "9 succeeded, 1 failed" "toy_default_003 failed with exit code 1" ": RuntimeError: shape mismatch (train.sh, line 7)" "; own error: it would end the same way again"
[ "$(grep -c "shape mismatch (" output)" = 1 ] || fail "the cause is said more than once"
! grep -q "^  > RuntimeError" output || fail "the cause is there twice"
run plimsoll status
expect 0 "failed  toy_default_003: failed with exit code 1" ": RuntimeError: shape mismatch (train.sh, line 7)" "  best: accuracy 0.8" "(n 5), toy/default: learning_rate 0.01"

# The table: two configurations, not ten; the better one first; what is the same in all below it.
run plimsoll results
expect 0 "toy/default, 10 experiments: 9 succeeded, 1 failed (own error 1)" "plimsoll status names that of each failed experiment" "accuracy" " ± " "4 of 5" "the same in all: batch_size 64" \
  "best first by accuracy: higher is better, judged by its name"
[ "$(grep -c '^[12] ' output)" = 2 ] || fail "not a line per configuration"
[ "$(sed -n '/^#/,$p' output | sed -n 2p | cut -c1)" = 2 ] || fail "the better configuration is not the first"
python3 - "$(newest)/summary.csv" output <<'END' || fail "mean and standard deviation"
import csv, re, statistics, sys
rows = [float(row["perf_accuracy"]) for row in csv.DictReader(open(sys.argv[1])) if float(row["hyperparam_learning_rate"]) == 0.01]
line = next(line for line in open(sys.argv[2]) if line.startswith("2 "))
mean, sd = map(float, re.search(r"([0-9.]+) ± ([0-9.]+)", line).groups())
assert abs(mean - statistics.mean(rows)) < 0.6 * 10 ** -len(str(mean).split(".")[1]), (mean, rows)
assert abs(sd / statistics.stdev(rows) - 1) < 0.06, (sd, rows)
END
[ "$(grep -c "energy: unavailable" output)" -le 1 ] || fail "unavailable more than once"
run env COLUMNS=50 "$PLIMSOLL" results
expect 0 "left out, the terminal has 50 columns: eval_loss, time (s)"
awk '/^#/,/^$/ { if (length($0) > 60) exit 1 }' output || fail "wider than the terminal"
run plimsoll results --columns learning_rate,eval_loss --sort eval_loss --where "learning_rate<0.05"
expect 0 "#  learning_rate" "5 succeeded"
! grep -q "0.1 " output || fail "--where keeps everything"
run plimsoll results --sort accuracy:min
[ "$(sed -n '/^#/,$p' output | sed -n 2p | cut -c1)" = 1 ] || fail ":min does not turn it around"

# Files for scripts: an experiment a line as ever, or a configuration a line.
run plimsoll results --csv
[ "$(wc -l <output)" = 11 ] || fail "--csv has not a line per experiment"
cmp -s output "$(newest)/summary.csv" || fail "--csv is not summary.csv"
run plimsoll results --csv --where "learning_rate=0.1"
[ "$(wc -l <output)" = 6 ] || fail "--where of --csv"
run plimsoll results --csv --means
[ "$(wc -l <output)" = 3 ] || fail "--means has not a line per configuration"
run plimsoll results --json --means
python3 -c 'import json; all = json.load(open("output")); assert [one["figures"]["perf_accuracy"]["n"] for one in all] == [5, 4], all' || fail "--json --means"
run plimsoll results --latex
expect 0 '\begin{tabular}' 'learning\_rate' '$0.8' '\pm'

# Comparisons.
run plimsoll results --compare 1 2
expect 0 "A = #1: learning_rate 0.1" "B = #2: learning_rate 0.01" "B - A [95 %]" "accuracy, A and B: B is higher (p" "eval_loss, A and B: no difference shown" \
  "more repeats of each to see a difference of" "adjusted by Holm for 3 tests"
run plimsoll results --compare "learning_rate>0.05" 2 --columns accuracy --difference 0.001 --json
python3 - <<'END' || fail "--compare --json"
import json
(one,) = json.load(open("output"))["comparisons"]
assert one["p"] < 0.001 and one["test"] == "Welch's t" and one["interval"]["low"] > 0.05, one
assert one["repeats_needed"] > 100 and one["looked_for"] == 0.001, one
END
run plimsoll results --over learning_rate
expect 0 "A = learning_rate 0.01" "B = learning_rate 0.1" "B is lower"
run plimsoll results --importance
expect 0 "accuracy: share of its variance over 9 runs" "learning_rate" "Hays' omega squared" "(noise)"
run plimsoll results --pareto accuracy eval_loss
expect 0 "on the front" "lower is better"
run plimsoll results --compare 1 7
expect 2 "7 selects no configuration"
run plimsoll results --compare 1 "learning_rate>0.05"
expect 2 "have 1 configuration in common: #1; choose two that exclude each other"
run plimsoll results --compare 1
expect 2 "--compare needs two groups, as in --compare 1 2" "numbers of the table, 1 to 2, or conditions such as" "learning_rate=0."
run plimsoll results --compare
expect 2 "--compare needs two groups"
run plimsoll results --pareto accuracy
expect 2 "--pareto needs two figures, as in --pareto accuracy eval_loss" "known: accuracy, eval_loss, seconds"
run plimsoll results --pareto
expect 2 "--pareto needs two figures"
run plimsoll results --over batch_size
expect 2 "the same value in all experiments"
run plimsoll results --over lerning_rate
expect 2 "did you mean learning_rate?"
run plimsoll results --where "learning_rate>7"
expect 2 "no experiment meets it"
run plimsoll results --where learning_rate
expect 2 "is not a condition"
run plimsoll results --compare 1 2 --importance
expect 2 "exclude each other"
run plimsoll results --means
expect 2 "--means needs --csv or --json"
run plimsoll results --columns accuracy --csv
expect 2 "one line per experiment"
run plimsoll results --over seed
expect 2 "--over seed: seed is a nuisance"
run plimsoll results --compare 1 "learning_rate>0"
expect 2 'such as "learning_rate<0.1" and "learning_rate>=0.1"'
run plimsoll results --compare 1 2 --difference 0
expect 2 "--difference: '0' is not a number above 0"
run plimsoll results --grams-per-kwh -1
expect 2 "--grams-per-kwh: '-1' is not a number of at least 0"
run plimsoll results --price 0,30
expect 2 "--price 0,30: give a number with a point"
run plimsoll results --price cheap
expect 2 "--price cheap"

# Repeats that the settings ask for, an objective that decides what is better, and a warm-up that does not
# count.
write_settings '{"repo": "toy", "mode": "mutation", "mutate": ["learning_rate"], "settings": 2, "repeats": 3}' \
  '"objective": {"metric": "eval_loss", "goal": "max"}, "warmup": 1'
run plimsoll run -ec settings.json -s 5
expect 0 "6 succeeded"
run plimsoll results
expect 0 "toy/default, 6 experiments: 6 succeeded" "best first by eval_loss: higher is better"
[ "$(grep -c '^[12] .* 3 ' output)" = 2 ] || fail "not two configurations of three repeats each"
run plimsoll results --pareto eval_loss time
expect 0 "eval_loss: higher is better, as the objective says" "time (s): lower is better, judged by its name; if not: time:max"
run plimsoll status
expect 0 "best: eval_loss 0." "(n 3)" "6 succeeded, 0 failed, 0 left"

# Without energy, what needs it says so.
if grep -q '"energy"' "$(newest)"/*/experiment.json && ! plimsoll results --json --means | grep -q '"energy_joules"'; then
  run plimsoll results --pareto accuracy energy
  expect 2 "no experiment has the figure energy" "energy: unavailable" "plimsoll doctor says"
  run plimsoll results --price 0.3 --grams-per-kwh 400
  expect 0 "--price has no effect: no energy was measured" "--grams-per-kwh has no effect"
fi

# The old key runs one seed several times; the plan and the results say it. A configuration without success
# has no test.
write_settings '{"repo": "toy", "mode": "default", "runs_per_config": 3}, {"repo": "toy", "mode": "default",
  "hyperparameters": {"learning_rate": 0.1, "seed": 3}}'
run plimsoll run -ec settings.json
expect 11 "2 experiments repeat an earlier one with the same seed" "toy/default default, the same values each time"
run plimsoll results
expect 0 "2 repeats have the same seed as another repeat"
run plimsoll results --where "learning_rate=0.1" --pareto accuracy time
expect 2 "no experiment has the figure accuracy; known: none; no experiment has succeeded"
run plimsoll results --compare 1 2
expect 0 "accuracy, A and B: no test, B has no successful run (own error 1)"
run plimsoll results --over learning_rate
expect 0 "accuracy, A and B: no test, B has no successful run (own error 1)"
