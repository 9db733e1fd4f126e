#!/bin/sh
# Files with something wrong in them: all of it is said at once, with file and line, and nothing is started.
. "$(dirname "$0")/run_lib.sh"
settings() {
  cat >settings.json
}
# refused CODE TEXT...: by a run that left nothing.
refused() {
  run plimsoll run -ec settings.json
  expect "$@"
  [ ! -d results ] || fail "a refused batch has left a folder"
}

rm -f settings.json
refused 6 "cannot read the settings settings.json: No such file or directory"
run plimsoll run -ec settings.json -c nowhere.json
expect 6 "cannot read the model config nowhere.json"
run plimsoll run -ec . -c models_config.json
expect 6 "the settings . is a folder"
run plimsoll run
expect 2 "give the settings with -ec FILE, or a training with -r REPO -m MODEL"
run plimsoll run --resume . -s 3
expect 2 "--resume uses the settings that the run was started with"
run plimsoll run -ec settings.json -r toy
expect 2 "give one of them"
run plimsoll run -ec settings.json -n 5
expect 2 "-m, -mt and -n need -r REPO"
run plimsoll run --resume nowhere
expect 6 "there is no folder"
run plimsoll run --resume .
expect 6 "is not a run: it has no journal.sqlite"

printf '{"experiments": [\n  {"repo": "toy",,}\n]}\n' | settings
refused 3 "settings.json:2: this is not JSON"
printf '' | settings
refused 3 "settings.json:1: this is not JSON"
printf '{"experiments": []}\n' | settings
refused 3 "settings.json:1: error: experiments is empty: there is nothing to run" "1 error; no experiment was started"
printf '{"experiment": []}\n' | settings
refused 3 "unknown key experiment in the settings; did you mean experiments?"

# Everything at once, from the top, with the nearest name.
settings <<'END_OF_SETTINGS'
{"max_retries": 1.5, "governor": "fast",
 "experiments": [
  {"repo": "toi", "model": "good"},
  {"repo": "toy", "model": "god"},
  {"repo": "toy", "model": "good", "mutate": ["epoch"]},
  {"repo": "toy", "model": "good", "runs_per_config": "five"},
  {"repo": "toy", "model": "good", "mode": "default", "hyperparameters": {"epochs": 1.5}},
  {"repo": "toy", "model": "good", "mode": "random"},
  {"repo": "toy", "model": "good", "timeout": "soon", "memory": -3},
  {"repo": "toy", "model": "good", "mutation_strategy": "x", "expect": {"must_match": ["("]}},
  {"model": "good"}, 7]}
END_OF_SETTINGS
refused 3 "settings.json:1: error: max_retries is 1.5; it must be a whole number" \
  "settings.json:1: error: governor is 'fast'; it must be performance" \
  "settings.json:3: error: there is no repo toi in models_config.json; did you mean toy?" \
  "settings.json:4: error: toy has no model god; did you mean good?" \
  "settings.json:5: error: toy has no hyperparameter epoch with a range; did you mean epochs?" \
  "settings.json:6: error: runs_per_config is a string; it must be a number" \
  "settings.json:7: error: epochs is 1.5; it must be a 64-bit int" \
  "settings.json:8: error: mode is 'random'; it must be mutation, default or parallel" \
  "settings.json:9: error: timeout: 'soon' is not a duration" \
  "settings.json:9: error: memory must be a size" \
  "settings.json:10: error: mutation_strategy is not supported" \
  "settings.json:10: error: must_match: '(' is not a valid regular expression" \
  "settings.json:11: error: this entry has no repo" \
  "settings.json:11: error: an entry is a number; it must be an object" \
  "14 errors; no experiment was started"
grep "^settings.json" output | sed 's/settings.json:\([0-9]*\).*/\1/' | sort -n -c || fail "the errors are not in the order of the lines"

# The model config.
mkdir repos/bare
echo true >repos/bare/train.sh
cat >broken.json <<'END_OF_CONFIG'
{"models": {
  "gone": {"path": "repos/gone", "train_script": "./train.sh", "models": ["default"]},
  "bare": {"path": "repos/bare", "train_script": "./train.sh", "models": ["default"]},
  "toy": {"path": "repos/toy", "train_script": "./train.sh", "models": ["default"],
    "supported_hyperparams": {
      "epochs": {"flag": "-e", "type": "int", "default": 3, "range": [500, 1]},
      "rate": {"flag": "-l", "type": "double", "range": [0, 1], "distribution": "log_uniform"},
      "seed": {"type": "int", "rnge": [0, 9]}},
    "performance_metrics": {"log_patterns": {"loss": "loss: ([0-9.]+", "accuracy": "accuracy: [0-9.]+"}}}}}
END_OF_CONFIG
printf '{"experiments": [{"repo": "gone", "mode": "default"}, {"repo": "bare", "mode": "default"}]}\n' | settings
run plimsoll run -ec settings.json -c broken.json
expect 3 "broken.json:2: error: gone: there is no folder $WORK/repos/gone" \
  "broken.json:3: error: bare: $WORK/repos/bare/train.sh is not executable; chmod +x $WORK/repos/bare/train.sh" \
  "broken.json:6: error: epochs: range [500, 1] is empty: the first is larger" \
  "broken.json:7: error: rate: type is 'double'; it must be int, float, text, bool or switch" \
  "broken.json:7: error: rate: a log_uniform range must begin above 0, not at 0" \
  "broken.json:8: error: seed has no flag" "broken.json:8: error: unknown key rnge in seed; did you mean range?" \
  "broken.json:9: error: the pattern of loss is not a valid regular expression" \
  "broken.json:9: error: the pattern of accuracy has no group that says where the number is"
[ ! -d results ] || fail "a refused batch has left a folder"

# An unknown key that is near none is said to have no effect; --strict refuses it.
write_settings '{"repo": "toy", "model": "good", "mode": "default", "colour": "blue"}'
run plimsoll run -ec settings.json --strict
expect 3 "error: unknown key colour in this entry"
[ ! -d results ] || fail "a refused batch has left a folder"
run plimsoll run -ec settings.json
expect 0 "warning: unknown key colour in this entry: it has no effect" "1 succeeded"
