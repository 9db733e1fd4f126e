#!/bin/sh
# Designs: what a grid, repeats, an order and warm-ups make of a batch, in the commands and in the files.
. "$(dirname "$0")/run_lib.sh"
cat >repos/toy/train.py <<'TRAIN'
import sys
print(" ".join(sys.argv[1:]))
print("accuracy: 0.5")
TRAIN
cat >models_config.json <<'CONFIG'
{"models": {"toy": {"path": "repos/toy", "train_script": "python3 train.py",
  "supported_hyperparams": {
    "optimizer": {"flag": "-o", "type": "text", "default": "adam", "choices": ["adam", "sgd"]},
    "momentum": {"flag": "-m", "type": "float", "default": 0.9, "only_if": {"optimizer": "sgd"}},
    "amp": {"flag": "--amp", "type": "switch", "default": false},
    "seed": {"flag": "-s", "type": "int", "default": 1}},
  "performance_metrics": {"log_patterns": {"accuracy": "accuracy: ([0-9.]+)"}}}}}
CONFIG
write_settings '{"repo": "toy", "grid": {"optimizer": ["adam", "sgd"], "amp": [false, true]}, "exclude": {"optimizer": "sgd", "amp": true}, "repeats": 2}' \
  '"order": "blocked", "warmup": 1'
run plimsoll run -ec settings.json -s 3
expect 0 "6  toy/default grid, 2 repeats of each setting  (settings.json:1)" \
  "6  experiments in all after 1 warm-up; order blocked" "[warm-up] warmup_toy_default_001 succeeded" \
  "6 succeeded, 0 failed, 0 left"
[ "$(column repeat | tr '\n' ' ')" = "1 1 1 2 2 2 " ] || fail "blocks: $(column repeat)"
[ "$(column configuration | sort | uniq -c | awk '{print $1}' | tr '\n' ' ')" = "2 2 2 " ] || fail "settings: $(column configuration)"
[ "$(column hyperparam_seed | sort -u | tr '\n' ' ')" = "1 2 " ] || fail "seeds: $(column hyperparam_seed)"
cat "$(newest)"/toy_default_*/training.log | grep -v accuracy | sort -u >commands
cat >expected <<'LINES'
-o adam --amp -s 1
-o adam --amp -s 2
-o adam -s 1
-o adam -s 2
-o sgd -m 0.9 -s 1
-o sgd -m 0.9 -s 2
LINES
cmp -s commands expected || fail "commands: $(cat commands)"
grep -q '"warmup": true' "$(newest)"/warmup_*/experiment.json || fail "the warm-up is not marked"
column listed >first
sleep 1.1
run plimsoll run -ec settings.json -s 3
expect 0 "6 succeeded"
column listed >second
cmp -s first second || fail "the same seed has another order: $(cat first second)"

# Seeds that a grid or a list names are those that run.
for design in '"grid": {"optimizer": ["adam", "sgd"], "seed": [41, 42]}' \
  '"list": [{"optimizer": "adam", "seed": 41}, {"optimizer": "sgd", "seed": 42}]'; do
  write_settings "{\"repo\": \"toy\", $design}"
  sleep 1.1
  run plimsoll run -ec settings.json -s 3
  expect 0 "0 failed, 0 left"
  [ "$(column hyperparam_seed | sort -u | tr '\n' ' ')" = "41 42 " ] || fail "$design: seeds $(column hyperparam_seed)"
done

# A failed warm-up is said and does not count.
printf 'import sys\nsys.exit(1 if not sys.argv else 3)\n' >repos/toy/train.py
write_settings '{"repo": "toy", "mode": "default"}' '"warmup": 1'
sleep 1.1
run plimsoll run -ec settings.json
expect 11 "[warm-up] warmup_toy_default_001 failed" "0 succeeded, 1 failed, 0 left"

# The search of examples/ runs.
cp -r "$TESTS/../examples" examples
cd examples
code=0
"$PLIMSOLL" run -ec search.json -s 1 --jobs 2 >../output 2>&1 || code=$?
cd ..
expect 0 "18  experiments in all after 1 warm-up; order random" "stopped early, 0 failed, 0 left"
