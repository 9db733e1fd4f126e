#!/bin/sh
# `plimsoll train` itself as an experiment: drawn learning rates, its own metrics, and the same result for the
# same values.
. "$(dirname "$0")/lib.sh"
needs_training
plimsoll synth --nodes 2000 --edges 16000 --classes 4 --features 16 --out graph.plim --quiet
mkdir gnn
# Every run has a folder of its own: train goes on with none that it was not asked to.
printf '#!/bin/sh\nexec "%s" train ../graph.plim --memory 1G --save-dir "$(mktemp -d -p "$PWD")" "$@"\n' "$PLIMSOLL" >gnn/train.sh
chmod +x gnn/train.sh
cat >models_config.json <<'END_OF_CONFIG'
{"models": {"gnn": {"path": "gnn", "train_script": "./train.sh", "model_flag": "--model", "models": ["sage", "gcn"],
  "required_args": {"shape": "--hidden 16 --fanout 5,5 --epochs 2"},
  "supported_hyperparams": {
    "learning_rate": {"flag": "--lr", "type": "float", "default": 0.01, "range": [0.001, 0.1], "distribution": "log_uniform"},
    "seed": {"flag": "--seed", "type": "int", "default": 1, "range": [1, 99]}},
  "performance_metrics": {"log_patterns": {"loss": "Loss: ([0-9.]+)", "accuracy": "Test: ([0-9.]+)"}}}}}
END_OF_CONFIG
cat >settings.json <<'END_OF_SETTINGS'
{"experiments": [
  {"repo": "gnn", "model": "sage", "mode": "default", "runs_per_config": 2},
  {"repo": "gnn", "model": "gcn", "mutate": ["learning_rate"], "expect": {"metrics": ["loss", "accuracy"]}}]}
END_OF_SETTINGS
run plimsoll run -ec settings.json -s 3 --gpu none
expect 0 "3 succeeded, 0 failed, 0 left"
python3 - "$(find results -name summary.csv)" <<'END_OF_CHECK' || fail "the table"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
first, second, drawn = rows
assert first["hyperparam_learning_rate"] == "0.01" and drawn["hyperparam_learning_rate"] != "0.01", rows
assert (first["perf_loss"], first["perf_accuracy"]) == (second["perf_loss"], second["perf_accuracy"]), rows
assert 0 < float(drawn["perf_loss"]) < 10 and 0 <= float(drawn["perf_accuracy"]) <= 1, rows
END_OF_CHECK
# A training that does not fit its memory is refused by plan, and that is not tried again.
sed -i 's/--memory 1G/--memory 20M/' gnn/train.sh
run plimsoll run -r gnn -m sage -mt seed --gpu none
expect 11 "0 succeeded, 1 failed"
grep -q '"retries": 0' results/*/gnn_sage_001/experiment.json || fail "it was tried again"
