#!/bin/sh
# predict writes one row a node by ascending original id; what it says of a split is what the training
# measured there. Checkpoints that are damaged or of another data set are refused.
. "$(dirname "$0")/lib.sh"
needs_training

# Made as OGB ships it, so that ids and labels are known from the source alone.
plimsoll synth --nodes 6000 --edges 60000 --classes 8 --features 32 --seed 3 --format ogb --out raw --quiet
plimsoll import ogb raw --out a.plim --quiet
train() {
  run timeout 600 "$PLIMSOLL" train a.plim --batch-size 256 --hidden 24 --quiet "$@"
  expect 0 "Epoch "
}
train --model sage --epochs 5 --save-dir sampled
train --model sage --epochs 5 --eval full --save-dir full
train --model mlp --epochs 2 --save-dir mlp
train --model gat --heads 4 --epochs 2 --save-dir gat --batch-norm
train --model gcn --fanout 5,5,5 --epochs 2 --save-dir gcn

# header FILE TYPE SHAPE: what NumPy reads first.
header() {
  head -c 128 "$1" | tr '\0' ' ' >output
  grep -aq "'descr': '$2', 'fortran_order': False, 'shape': $3," output || fail "$1 is not $2 of shape $3"
}
predict() {
  run timeout 600 "$PLIMSOLL" predict a.plim --quiet "$@"
  expect 0 "by ascending id"
}
predict --checkpoint sampled/best.pth --out test.npy --ids test_ids.npy
# On a machine that has not been measured yet, measuring it keeps to the limit, too.
for limit in 450M 570M; do
  XDG_CACHE_HOME="$WORK/new-$limit" predict --checkpoint sampled/best.pth --out measured.npy --force --memory $limit
  cmp measured.npy test.npy || fail "the limit $limit changed the predictions"
done
predict --checkpoint sampled/best.pth --out valid.npy --ids valid_ids.npy --split valid
predict --checkpoint sampled/best.pth --out train.npy --ids train_ids.npy --split train
predict --checkpoint full/best.pth --out full_test.npy
predict --checkpoint full/best.pth --out full_valid.npy --split valid
predict --checkpoint full/best.pth --out all.npy --ids all_ids.npy --split all
predict --checkpoint full/best.pth --out all_logits.npy --split all --logits
predict --checkpoint full/best.pth --out all_embeddings.npy --split all --embeddings
predict --checkpoint full/best.pth --out full_sampled.npy --eval sampled
predict --checkpoint sampled/best.pth --out sampled_full.npy --eval full --logits
predict --checkpoint mlp/best.pth --out mlp_logits.npy --split all --logits
predict --checkpoint mlp/best.pth --out mlp_embeddings.npy --split all --embeddings
predict --checkpoint gat/last.pth --out gat.npy --split all --embeddings
predict --checkpoint gcn/last.pth --out gcn.npy --logits
header test.npy '<i8' '(1200,)'
header test_ids.npy '<i8' '(1200,)'
header all.npy '<i8' '(6000,)'
header all_logits.npy '<f4' '(6000, 8)'
header all_embeddings.npy '<f4' '(6000, 24)'
header sampled_full.npy '<f4' '(1200, 8)'
header gat.npy '<f4' '(6000, 24)'
header gcn.npy '<f4' '(1200, 8)'

# The same question, the same answer, however many threads.
predict --checkpoint sampled/best.pth --out again.npy --threads 1 --workers 3
cmp -s test.npy again.npy || fail "another number of threads, another answer"

if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  cat >check.py <<'PYTHON'
import gzip, json
import numpy as np

labels = np.load("raw/raw/node-label.npz")["node_label"].ravel()
load = lambda name: np.load(name + ".npy")
def check(true, text):
    if not true:
        raise SystemExit(text)

ids = {}
for split in ("train", "valid", "test"):
    with gzip.open("raw/split/time/%s.csv.gz" % split, "rt") as file:
        ids[split] = np.sort(np.array([int(line) for line in file]))
    check(np.array_equal(load(split + "_ids"), ids[split]), "--ids of %s are not the source's, sorted" % split)
check(np.array_equal(load("all_ids"), np.arange(6000)), "--split all is not every id in order")

# What training measured is what predict says, in every digit.
def same_accuracy(name, split, folder):
    results = json.load(open(folder + "/results.json"))
    found = float(np.mean(load(name) == labels[ids[split]]))
    wanted = results[split + "_acc"]
    check(abs(found - wanted) < 1e-9, "%s: %s/results.json has %s_acc %.6f, predict's classes reach %.6f"
          % (name, folder, split, wanted, found))
same_accuracy("full_test", "test", "full")
same_accuracy("full_valid", "valid", "full")
same_accuracy("valid", "valid", "sampled")
same_accuracy("train", "train", "sampled")
same_accuracy("test", "test", "sampled")
check(np.mean(load("full_test") == labels[ids["test"]]) > 0.4, "the model has learned nothing: this tests little")

logits, embeddings = load("all_logits"), load("all_embeddings")
check(np.isfinite(logits).all() and np.isfinite(embeddings).all(), "not all are numbers")
check(np.array_equal(logits.argmax(1), load("all")), "the classes are not the logits' highest")
check(np.array_equal(load("all")[ids["test"]], load("full_test")), "a node's class depends on the split asked for")
check((load("full_sampled") == load("full_test")).mean() > 0.7, "--eval sampled is far from --eval full")
check((load("sampled_full").argmax(1) == load("test")).mean() > 0.7, "--eval full is far from --eval sampled")
check(len(np.unique(load("gat"), axis=0)) > 5000, "gat's embeddings are all alike")
PYTHON
  run /usr/bin/python3 check.py
  [ "$code" -eq 0 ] || fail "the predictions are not right"
else
  echo "not tried: the values of the predictions (no numpy for /usr/bin/python3)"
fi
# Embeddings are what the last layer sees: its weights make the logits of them.
if /usr/bin/python3 -c 'import numpy, torch' 2>/dev/null; then
  cat >layer.py <<'PYTHON'
import numpy as np, torch
state = torch.load("mlp/best.pth")["model_state_dict"]
(weight,) = [v for k, v in state.items() if k.endswith("weight") and v.shape == (8, 24)]
(bias,) = [v for k, v in state.items() if k.endswith("bias") and v.shape == (8,)]
logits = torch.nn.functional.linear(torch.from_numpy(np.load("mlp_embeddings.npy")), weight, bias)
worst = (logits - torch.from_numpy(np.load("mlp_logits.npy"))).abs().max().item()
if not worst < 1e-4:
    raise SystemExit("the last layer makes other logits of the embeddings: off by %g" % worst)
PYTHON
  run /usr/bin/python3 layer.py
  [ "$code" -eq 0 ] || fail "embeddings and logits do not fit"
else
  echo "not tried: the last layer on the embeddings (no torch for /usr/bin/python3)"
fi

# Refused, with nothing written.
refused() {
  run timeout 600 "$PLIMSOLL" predict "$@" --out new.npy --ids new_ids.npy --quiet
}
head -c 3000 full/best.pth >cut.pth
refused a.plim --checkpoint cut.pth
expect 3 "cut.pth" "perhaps cut off"
head -c 30000 /dev/urandom >random.pth
refused a.plim --checkpoint random.pth
expect 3 "random.pth" "not a zip archive"
: >empty.pth
refused a.plim --checkpoint empty.pth
expect 3 "empty.pth" "it is empty"
# Some bytes of a weight. Weights come first, then the optimizer's figures, which only a training reads.
flip() {
  cp "$1" "$2"
  printf '\125\252\125\252' | dd of="$2" bs=1 seek=$(($(wc -c <"$2") * $3 / 100)) conv=notrunc 2>/dev/null
}
flip full/best.pth flipped.pth 30
refused a.plim --checkpoint flipped.pth
expect 3 "flipped.pth"
mkdir flipped
flip full/last.pth flipped/last.pth 70
run timeout 600 "$PLIMSOLL" train a.plim --resume flipped --epochs 6 --quiet
expect 3 "flipped/last.pth"
refused a.plim --checkpoint full/results.json
expect 3 "full/results.json"
refused a.plim --checkpoint nowhere.pth
expect 6 "there is no checkpoint nowhere.pth"
refused a.plim --checkpoint full
expect 2 "full is a folder"
plimsoll synth --nodes 500 --edges 4000 --classes 5 --features 16 --out other.plim --quiet
refused other.plim --checkpoint full/best.pth
expect 3 "full/best.pth holds sage 32 -> 24 -> 8" "other.plim has 16 features and 5 classes"
refused a.plim --checkpoint full/best.pth --logits --embeddings
expect 2 "--embeddings" "--logits"
train --model gcn --fanout 5 --epochs 1 --save-dir shallow
refused a.plim --checkpoint shallow/best.pth --embeddings
expect 2 "--embeddings"
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  /usr/bin/python3 -c '
import torch
torch.save({"weights": torch.zeros(3)}, "foreign.pth")
torch.save(torch.nn.Linear(2, 2), "module.pth")
checkpoint = torch.load("full/best.pth")
torch.save(checkpoint, "resaved.pth")
del checkpoint["model_state_dict"]["conv2.lin_l.weight"]
torch.save(checkpoint, "less.pth")'
  refused a.plim --checkpoint foreign.pth
  expect 3 "foreign.pth" "did not write it"
  refused a.plim --checkpoint module.pth
  expect 3 "module.pth" "Linear"
  refused a.plim --checkpoint less.pth
  expect 3 "conv2.lin_l.weight" "less.pth"
  predict --checkpoint resaved.pth --out resaved.npy
  cmp -s resaved.npy full_test.npy || fail "saved again by Python, the model says something else"
fi
[ ! -e new.npy ] && [ ! -e new_ids.npy ] || fail "something was written"
left=$(find . -name '*.partial')
[ -z "$left" ] || fail "left behind: $left"

# A pickle of 60 MB that makes an object of every byte is refused within the limit.
if [ -x /usr/bin/python3 ]; then
  cat >hostile.py <<'PYTHON'
import resource, subprocess, sys, zipfile
with zipfile.ZipFile("full/best.pth") as source, zipfile.ZipFile("hostile.pth", "w") as made:
    for name in source.namelist():
        made.writestr(name, b"\x80\x02" + b"N" * (60 << 20) + b"." if name.endswith("data.pkl") else source.read(name))
code = subprocess.call(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
assert peak <= 300 << 20, f"{peak} bytes were resident"
sys.exit(code)
PYTHON
  run /usr/bin/python3 hostile.py "$PLIMSOLL" predict a.plim --checkpoint hostile.pth --out hostile.npy --memory 300M
  expect 4 "checkpoint values" "--memory"
  [ ! -e hostile.npy ] || fail "a refused prediction left a file"
fi

# What is there stays, unless told otherwise.
cp test.npy before.npy
run plimsoll predict a.plim --checkpoint full/best.pth --out test.npy
expect 7 "test.npy exists" "--force"
run plimsoll predict a.plim --checkpoint full/best.pth --out free.npy --ids test.npy
expect 7 "test.npy exists" "--ids"
cmp -s before.npy test.npy || fail "it was replaced"
run plimsoll predict a.plim --checkpoint full/best.pth --out test.npy --force --quiet
expect 0 "wrote"
cmp -s test.npy full_test.npy || fail "--force did not replace it"
exit 0
