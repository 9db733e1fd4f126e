#!/bin/sh
# The files of a run: made again from the journal where a loss of power has emptied them, left alone where
# there is nothing to do, in folders whose names fit whatever a model is called.
. "$(dirname "$0")/run_lib.sh"
write_settings '{"repo": "toy", "model": "good", "mode": "default", "runs_per_config": 3}, {"repo": "toy", "model": "liar", "mode": "default"}'
run plimsoll run -ec settings.json
expect 11 "3 succeeded, 1 failed"
folder=$(newest)
one=$folder/toy_good_001/experiment.json
two=$folder/toy_good_002/experiment.json
# Every file of the run, with its size and the time of its last change.
state() {
  find "$folder" ! -type d -printf '%P %i %s %T@\n' | sort
}

# A resume with nothing to do: nothing is written.
state >before
run plimsoll run --resume "$folder"
expect 11 "nothing left to do" "3 succeeded, 1 failed, 0 left"
state >after
cmp -s before after || fail "a resume without anything to do wrote: $(diff before after)"
for look in status results; do
  run plimsoll $look "$folder"
  expect 0
done
state >after
cmp -s before after || fail "looking wrote: $(diff before after)"

# A loss of power: empty, cut, missing.
cp "$one" one
cp "$folder/summary.csv" table
for command in "run --resume" status results; do
  : >"$one"
  truncate -s 100 "$two"
  rm -r "$folder/toy_good_003"
  : >"$folder/summary.csv"
  run plimsoll $command "$folder"
  cmp -s one "$one" || fail "$command: experiment.json is not what it was"
  python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["training_success"]' "$two" || fail "$command: a cut experiment.json"
  [ -s "$folder/toy_good_003/experiment.json" ] || fail "$command: a missing experiment.json"
  cmp -s table "$folder/summary.csv" || fail "$command: summary.csv is not what it was"
  left=$(find "$folder" -name '*.partial')
  [ -z "$left" ] || fail "left behind: $left"
done
: >"$one"
run plimsoll status "$folder"
expect 0 "$one was missing or damaged; restored from the journal"

# Somebody else's run is not written to, root's right or not.
if [ "$(id -u)" = 0 ]; then
  : >"$one"
  chown 65534 "$folder"
  run plimsoll status "$folder"
  expect 0 "$one was missing or damaged; its owner can restore it: plimsoll run --resume"
  [ ! -s "$one" ] || fail "written for somebody else"
fi

# Names: too long for a file system, with what no file name may have, and what a shell would take for an
# option.
python3 - <<'END_OF_MAKER'
import json
names = ["m" * 300, "../../up", "-rf", ".", "..", "a\nb\x1b[31m", "/etc/passwd", "模" * 120]
config = json.load(open("models_config.json"))
toy = config["models"].pop("toy")
toy["models"] = names
toy["model_flag"] = ""
toy["train_script"] = "./any.sh"
config["models"]["-../to y"] = toy
json.dump(config, open("odd.json", "w"))
entries = [{"repo": "-../to y", "model": name, "mode": "default"} for name in names]
json.dump({"experiments": entries}, open("settings.json", "w"))
END_OF_MAKER
printf '#!/bin/sh\necho "loss: 0.5"\n' >repos/toy/any.sh
chmod +x repos/toy/any.sh
ls -A >before
run plimsoll run -ec settings.json -c odd.json
expect 0 "8 succeeded, 0 failed, 0 left"
ls -A >after
cmp -s before after || fail "files outside the run: $(diff before after)"
python3 - "$(newest)" <<'END_OF_CHECK' || fail "names"
import json, os, sys
names = ["m" * 300, "../../up", "-rf", ".", "..", "a\nb\x1b[31m", "/etc/passwd", "模" * 120]
folders = sorted(name for name in os.listdir(sys.argv[1]) if os.path.isdir(os.path.join(sys.argv[1], name)))
assert len(folders) == len(names), folders
seen = []
for folder in folders:
    assert not folder.startswith(("-", ".")) and folder.isprintable(), folder
    with open(os.path.join(sys.argv[1], folder, "experiment.json")) as file:
        seen.append(json.load(file)["model"])
assert sorted(seen) == sorted(names), seen
END_OF_CHECK
run plimsoll status "$(newest)"
expect 0 finished
