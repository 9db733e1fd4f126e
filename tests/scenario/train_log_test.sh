#!/bin/sh
# --log: TensorBoard's events, history.csv, history.jsonl and metrics.prom have every epoch once, also after
# stops, kills and resumes from an earlier epoch; the tools' own readers read them.
. "$(dirname "$0")/lib.sh"
needs_training
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || skip "no /usr/bin/python3 to read the logs with"

plimsoll synth --nodes 5000 --edges 40000 --classes 5 --features 16 --seed 3 --out a.plim --quiet
train() {
  run timeout 600 "$PLIMSOLL" train "$@" --quiet
}
options="--hidden 16 --batch-size 128 --fanout 5,5 --log-steps 2"
all=tensorboard,csv,prometheus,jsonl

# The figures are those of results.json, in all of them.
cat >compare.py <<'PYTHON'
import csv, json, subprocess, sys
folder, reader = sys.argv[1:]
series = json.load(open(folder + "/results.json"))["series"]
rows = list(csv.DictReader(open(folder + "/history.csv")))
lines = [json.loads(line) for line in open(folder + "/history.jsonl")]
epochs = [one["epoch"] for one in series]
assert epochs == list(range(1, len(series) + 1)), epochs
assert [int(row["epoch"]) for row in rows] == epochs, "history.csv has other epochs: %s" % rows
assert [line["epoch"] for line in lines] == epochs, "history.jsonl has other epochs: %s" % lines
for one, row, line in zip(series, rows, lines):
    for name in ("loss", "valid_acc", "test_acc", "lr", "seconds"):
        assert line[name] == one[name], (name, one, line)
        cell = float(row[name]) if row[name] else None
        assert cell == one[name], (name, one, row)
    assert float(row["time"]) > 1.6e9
tags = {"loss": "loss/train", "valid_acc": "accuracy/valid", "test_acc": "accuracy/test", "lr": "learning_rate"}
read = subprocess.run([sys.executable, reader, folder], capture_output=True, text=True)
if read.returncode == 77:
    sys.exit("no protobuf")
assert read.returncode == 0, read.stdout + read.stderr
scalars = {}
for line in read.stdout.splitlines():
    words = line.split()
    if words[0].isdigit():
        scalars.setdefault(words[1], []).append((int(words[0]), float(words[2])))
for name, tag in tags.items():
    expected = [(one["epoch"], one[name]) for one in series if one[name] is not None]
    found = scalars.get(tag, [])
    assert [step for step, _ in found] == [step for step, _ in expected], (tag, found, expected)
    assert all(abs(a[1] - b[1]) < 1e-4 for a, b in zip(found, expected)), (tag, found, expected)
PYTHON
same_everywhere() {
  run $PYTHON compare.py "$1" "$TESTS/scenario/tensorboard_events.py"
  grep -q "^no protobuf" output && code=0 && echo "not tried: reading TensorBoard's files (no python3-protobuf)"
  [ "$code" -eq 0 ] || fail "the logs of $1 differ from results.json"
}

train a.plim $options --epochs 5 --log $all --save-dir whole
expect 0 "Epoch 005"
same_everywhere whole
run $PYTHON "$TESTS/scenario/tensorboard_events.py" whole
if [ "$code" -eq 0 ]; then
  for text in "  hparam hidden 3" "  value hidden 16.0" "  value model gcn" "  value fanout 5,5" "  metric best/valid_acc" \
    "5 best/test_acc" "  status 1" "session stop 5"; do
    grep -qF -- "$text" output || fail "TensorBoard's files do not say: $text"
  done
fi
for text in 'plimsoll_train_epoch{dataset="' ',model="gcn",folder="' '# TYPE plimsoll_train_loss gauge' 'state="finished"} 1'; do
  grep -qF -- "$text" whole/metrics.prom || fail "metrics.prom has no $text: $(cat whole/metrics.prom)"
done

# Later epochs follow; the log is asked for once.
train a.plim --resume whole --epochs 7
expect 0 "Epoch 007"
same_everywhere whole

# A log that is asked for late has the earlier epochs, too.
train a.plim $options --epochs 3 --save-dir late
train a.plim --resume late --epochs 5 --log $all
expect 0 "Epoch 005"
same_everywhere late

# From an earlier checkpoint: what was trained after it is trained again and is there once.
train a.plim $options --epochs 4 --save-every 2 --log $all --save-dir back
cp back/epoch_002.pth back/last.pth
rm back/results.json
train a.plim --resume back --epochs 6
expect 0 "Epoch 006"
same_everywhere back

# kill -9 at any time, with the last line and record cut in the middle.
train a.plim $options --epochs 3 --save-every 1 --log $all --save-dir killed
for file in killed/history.csv killed/history.jsonl killed/events.*; do truncate -s -5 "$file"; done
cp killed/epoch_002.pth killed/last.pth
rm killed/results.json
train a.plim --resume killed --epochs 5
expect 0 "Epoch 005"
same_everywhere killed

# --force removes them; a new run in their place begins anew.
train a.plim $options --epochs 1 --save-dir whole --force
[ -z "$(find whole -name 'history.*' -o -name 'events.*' -o -name metrics.prom)" ] || fail "--force leaves logs: $(ls whole)"
train a.plim $options --epochs 2 --log csv,jsonl,tensorboard --save-dir whole --force
same_everywhere whole

# Each seed has its own, and `tensorboard --logdir` shows them as runs.
train a.plim $options --epochs 1 --seeds 2 --log tensorboard,csv --save-dir seeds
[ -e seeds/seed_0/history.csv ] && [ -e seeds/seed_1/history.csv ] || fail "no logs of seeds"

run plimsoll train a.plim --log tensorboard,wandb --save-dir no
expect 2 "'wandb' is not a log" "tensorboard, csv, jsonl, prometheus"
[ ! -e no ] || fail "a refused training left a folder"
exit 0
