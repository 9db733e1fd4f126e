#!/bin/sh
# What a training prints and leaves: the lines that users grep, results.json, which epoch is the best, what
# the options of learning do, and what the same seed repeats.
. "$(dirname "$0")/lib.sh"
needs_training

plimsoll synth --nodes 10000 --edges 100000 --classes 8 --features 32 --seed 3 --out a.plim --quiet

# train FOLDER OPTIONS...: must end well; stdout alone, as it arrives in a job's log.
train() {
  folder=$1
  shift
  code=0
  timeout 600 "$PLIMSOLL" train a.plim --save-dir "$folder" "$@" >output 2>errors || code=$?
  [ "$code" -eq 0 ] || { cat errors >>output; fail "train $folder: exit code $code"; }
}

# figure FOLDER KEY: of results.json, one value a line. The series' come after the run's own.
figure() {
  sed -n "s/^ *\"$2\": \([^,]*\),*\$/\1/p" "$1/results.json"
}
first() {
  figure "$1" "$2" | head -n 1
}
series() {
  sed -n '/"series"/,$p' "$1/results.json" | sed -n "s/^ *\"$2\": \([^,]*\),*\$/\1/p"
}

# One line an epoch, in the form of the scripts it stands in for, and no bars where nobody watches.
train plain --epochs 4 --log-steps 2 --hidden 32 --batch-size 256 --verbose
line='^Epoch 00[24] \| Loss: [0-9]+\.[0-9]{4} \| Val: 0\.[0-9]{4} \| Test: 0\.[0-9]{4} \| Time: [0-9.]+s$'
[ "$(grep -cE "$line" output)" -eq 2 ] || fail "epochs 2 and 4 are not evaluated, or not in that form"
[ "$(grep -cE '^Epoch 00[13] \| Loss: [0-9]+\.[0-9]{4} \| Time: [0-9.]+s$' output)" -eq 2 ] ||
  fail "epochs 1 and 3 should have a loss and a time alone"
! grep -qE "it/s|$(printf '\\033')" output errors || fail "bars without a terminal"
grep -qE '^learned +accuracy: test 0\.[0-9]{4}, validation 0\.[0-9]{4}, training 0\.[0-9]{4} \(epoch [24], the best of 4 epochs\)$' output ||
  fail "no line on the best epoch"
grep -qE "^memory +peak [0-9.]+ .iB of [0-9.]+ .iB, planned [0-9.]+ .iB$" output || fail "no line on the memory"
grep -q "^parts .*runtime " output || fail "no breakdown of the memory"

# results.json: the keys that scripts read, and ours.
for key in dataset model hidden_dim num_params best_epoch train_acc valid_acc test_acc training_time epochs lr \
  dropout weight_decay batch_size num_neighbors timestamp seed series peak_memory_bytes store_checksum; do
  grep -q "^  \"$key\": " plain/results.json || fail "results.json has no $key"
done
[ "$(first plain model)" = '"gcn"' ] && [ "$(first plain hidden_dim)" = 32 ] && [ "$(first plain epochs)" = 4 ] ||
  fail "results.json has other values than were given"
[ "$(series plain epoch | tr '\n' ' ')" = "1 2 3 4 " ] || fail "not an entry an epoch"
[ "$(series plain valid_acc | grep -c null)" -eq 2 ] || fail "epochs that were not evaluated have an accuracy"
# Weights and biases of 32 -> 32 -> 8.
[ "$(first plain num_params)" -eq $((32 * 32 + 32 + 32 * 8 + 8)) ] || fail "num_params is not their number"
if [ -x /usr/bin/python3 ]; then
  /usr/bin/python3 -c 'import json; json.load(open("plain/results.json"))' || fail "results.json is no JSON"
fi

# The best epoch is a copy of its own: these settings learn by heart, so that it is not the last.
train best --model sage --dropout 0 --lr 0.03 --epochs 12 --hidden 128 --batch-size 256 --save-every 5
best=$(first best best_epoch)
[ "$best" -lt 12 ] || fail "the best epoch is the last one: this tests nothing"
highest=$(series best valid_acc | sort -g | tail -n 1)
[ "$(first best valid_acc)" = "$highest" ] || fail "the best valid_acc is not the highest, $highest"
[ "$(series best valid_acc | sed -n "${best}p")" = "$highest" ] || fail "it is not that of epoch $best"
[ "$(series best test_acc | sed -n "${best}p")" = "$(first best test_acc)" ] || fail "test_acc is of another epoch"
[ "$(cd best && echo *.pth)" = "best.pth epoch_005.pth epoch_010.pth last.pth" ] ||
  fail "--save-every 5 left: $(ls best)"
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  run /usr/bin/python3 - "$best" <<'PYTHON'
import sys, torch
def epoch(name):
    return torch.load("best/" + name)["epoch"]
found = [epoch(name) for name in ("best.pth", "epoch_005.pth", "epoch_010.pth", "last.pth")]
wanted = [int(sys.argv[1]), 5, 10, 12]
assert found == wanted, "the checkpoints are of epochs %s, %s expected" % (found, wanted)
PYTHON
  expect 0
else
  echo "not tried: torch.load of the checkpoints (no torch for /usr/bin/python3)"
fi
# A run does not mix with what an earlier one left there.
train best --force --epochs 1 --hidden 32
[ "$(cd best && echo *.pth)" = "best.pth last.pth" ] || fail "--force left an old checkpoint: $(ls best)"

# Early stopping: so many evaluations after the best one.
train early --model sage --dropout 0 --lr 0.03 --epochs 100 --patience 3 --hidden 128 --batch-size 256
[ "$(first early epochs_run)" -eq $(($(first early best_epoch) + 3)) ] || fail "--patience 3 ended elsewhere"
[ "$(first early status)" = '"early stopped"' ] || fail "its status is $(first early status)"

# Schedules, as the series shows them.
train cosine --schedule cosine --epochs 4 --hidden 32 --lr 0.02
[ "$(series cosine lr | head -n 1)" = 0.02 ] || fail "cosine does not begin with --lr"
series cosine lr | sort -g -r -c || fail "cosine does not fall"
series cosine lr | sed -n 3p | awk '{ exit !($1 > 0.0099 && $1 < 0.0101) }' || fail "cosine is not half way there"
train plateau --model sage --dropout 0 --schedule plateau --epochs 30 --hidden 128 --batch-size 256 --lr 0.03
series plateau lr | sort -g -r -c || fail "plateau rises"
[ "$(series plateau lr | sort -u | wc -l)" -gt 1 ] || fail "30 epochs of overfitting, and the rate never fell"
series plateau lr | grep -qx 0.015 || fail "the rate is not halved"

# Label smoothing keeps the loss above what it would be; both it and batch norm learn.
train norm --batch-norm --label-smoothing 0.1 --epochs 3 --hidden 32 --batch-size 256
train smooth --label-smoothing 0.1 --epochs 3 --hidden 32 --batch-size 256
train hard --epochs 3 --hidden 32 --batch-size 256
for folder in norm smooth; do
  awk "BEGIN { exit !($(first $folder valid_acc) > 0.25) }" || fail "$folder learned nothing"
done
[ "$(series norm loss)" != "$(series smooth loss)" ] || fail "--batch-norm changes nothing"
awk "BEGIN { exit !($(series smooth loss | tail -n 1) > $(series hard loss | tail -n 1)) }" ||
  fail "label smoothing does not show in the loss"
run timeout 600 "$PLIMSOLL" train a.plim --save-dir deep --fanout 5,3,2,all --hidden 16 --epochs 1 --eval full
expect 0 "gcn, 4 layers" "fan-out 5,3,2,all"

# The same seed: however many workers make the batches and however many threads compute, every digit is the
# same.
seed="--model sage --epochs 3 --hidden 64 --batch-size 256"
train seed $seed --threads 2 --workers 1
for workers in 2 16; do
  train again $seed --threads 2 --workers $workers --force
  [ "$(series again loss)" = "$(series seed loss)" ] || fail "--workers $workers changes the losses"
  [ "$(series again valid_acc)" = "$(series seed valid_acc)" ] || fail "--workers $workers changes the accuracy"
done
for pair in 1:1 3:1 16:1 16:16; do
  train again $seed --threads ${pair%:*} --workers ${pair#*:} --force
  [ "$(series again loss)" = "$(series seed loss)" ] ||
    fail "--threads ${pair%:*} --workers ${pair#*:} changes the losses"
done
train again $seed --threads 2 --workers 1 --seed 1 --force
[ "$(series again loss)" != "$(series seed loss)" ] || fail "another seed changes nothing"

# A loss that is no number ends the run, and says where and what is left.
run timeout 600 "$PLIMSOLL" train a.plim --save-dir nan --lr 1e30 --hidden 32 --batch-size 256
expect 10 "the loss is not a number at epoch 1, batch" "no checkpoint has been written yet" "--lr"
run timeout 600 "$PLIMSOLL" train a.plim --save-dir nan --lr 1e30 --hidden 32 --batch-size 10000 --save-every 1
expect 10 "not a number at epoch 2, batch" "the last good checkpoint is nan/last.pth"
# Values that 32-bit floats just hold, and sums of them that they do not.
printf '0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n' >edges.csv
printf '3e38,3e38\n3e38,1\n3e38,3e38\n1,3e38\n3e38,3e38\n1,1\n' >features.csv
printf '0\n1\n0\n1\n0\n1\n' >labels.csv
mkdir split
printf '0\n1\n2\n' >split/train.csv
printf '3\n' >split/valid.csv
printf '4\n5\n' >split/test.csv
plimsoll import csv --edges edges.csv --features features.csv --labels labels.csv --split-dir split \
  --feature-type f32 --out huge.plim --quiet
run timeout 600 "$PLIMSOLL" train huge.plim --save-dir huge --model sage --hidden 64 --epochs 20
expect 10 "the loss is" "at epoch"

# The flags of a PyTorch script, on the folder that ogb leaves. A second run finds the store made by the
# first.
mkdir dataset
plimsoll synth papers100M --scale 0.0005 --format ogb --out dataset/ogbn_papers --quiet
for folder in models models2; do
  run timeout 600 "$PLIMSOLL" train --data_root dataset --hidden_dim 32 --num_neighbors 15 10 --batch_size 64 \
    --num_workers 4 --log_steps 1 --save_dir $folder --weight_decay 0 --dropout 0.5 --lr 0.01 --epochs 2
  expect 0 "gcn, 2 layers, hidden 32, fan-out 15,10, batch 64" "Epoch 002 | Loss: " "$folder/results.json"
  [ $folder = models2 ] || grep -q "importing dataset/ogbn_papers into dataset/ogbn_papers.plim" output ||
    fail "no word of the import"
done
! grep -q "importing" output || fail "it was imported twice"
[ "$(series models loss)" = "$(series models2 loss)" ] || fail "the second run learned something else"

# Bars for a reader.
cat >shown.sh <<SHELL
exec "$PLIMSOLL" train a.plim --save-dir shown --epochs 1 --hidden 32 --batch-size 256
SHELL
if command -v script >/dev/null 2>&1; then
  run timeout 600 script -qec "sh shown.sh" /dev/null </dev/null
elif [ -x /usr/bin/python3 ]; then
  run timeout 600 /usr/bin/python3 -c 'import pty, sys; sys.exit(pty.spawn(["sh", "shown.sh"]) >> 8)' </dev/null
else
  echo "not tried: bars on a terminal (neither script nor /usr/bin/python3)"
  exit 0
fi
expect 0 "Epoch 1/1:   0%|          | 0/24 [" "Epoch 1/1 eval:   0%|" "Epoch 001 | Loss: "
exit 0
