#!/bin/sh
# What train and predict refuse, they refuse before the training library is loaded, with the remedy and the
# documented exit code. Needs no libtorch.
. "$(dirname "$0")/lib.sh"

plimsoll synth --nodes 1000 --edges 5000 --classes 4 --features 8 --out a.plim --quiet
touch model.pth

# Words that are not understood.
run plimsoll train
expect 2 "STORE is missing" "--data_root"
run plimsoll train a.plim --modle gcn
expect 2 "unknown option --modle; did you mean --model?"
run plimsoll train a.plim --batchsize 5
expect 2 "did you mean --batch-size?"
# Options of other scripts are answered with those that do the same here.
for words in "--gpu 0:--device cuda:0" "--use_cuda:--device cuda" "--early_stopping_patience 3:--patience N" \
  "--log-every 5:--log-steps N" "--optimizer adam:the optimizer is Adam" "--runs 3:--seeds N"; do
  # shellcheck disable=SC2086  # a list of words
  run plimsoll train a.plim ${words%%:*}
  expect 2 "unknown option --" "${words#*:}"
done
run plimsoll train a.plim --model gin
expect 2 "--model cannot be 'gin'"
run plimsoll train a.plim --fanout 15,x
expect 2 "'15,x' is not a fan-out; write it like 15,10 or all"
run plimsoll train a.plim --fanout 0,10
expect 2 "'0,10' is not a fan-out" "for each layer a number from 1 up, or all"
run plimsoll train a.plim --hidden 0
expect 2 "whole number from 1"
run plimsoll train a.plim --model gat --hidden 10 --heads 4
expect 2 "--hidden 10" "--heads 4"
run plimsoll train a.plim --dropout 1.5
expect 2 "--dropout 1.5" "less than 1"
run plimsoll train a.plim --lr -1
expect 2 "--lr -1: it must be more than 0"
run plimsoll train a.plim --epochs 0
expect 2 "--epochs"
run plimsoll train a.plim --device tpu
expect 2 "--device cannot be 'tpu'"
run plimsoll train a.plim --resume m --force
expect 2 "--resume" "--force"
run plimsoll train a.plim --memory 8
expect 2 "--memory: '8' is 8 B" "did you mean 8G?"
run plimsoll train --resume a.plim
expect 2 "--resume a.plim is a store; give the folder of the run" "last.pth"
run plimsoll train a.plim --resume a.plim
expect 2 "--resume a.plim is a store; give the folder of the run" "last.pth"
mkdir run && touch run/last.pth
run plimsoll train --resume run
expect 2 "STORE is missing; name the store as well: plimsoll train STORE --resume run"

# Stores that there is nothing to learn from.
run plimsoll train nowhere.plim
expect 6 "there is no store nowhere.plim"
run plimsoll train --num_neighbors 15 10 nowhere.plim --batch_size 7
expect 6 "there is no store nowhere.plim"
mkdir empty
run plimsoll train empty
expect 8 "no meta.json"
printf '0,1\n1,2\n2,0\n' >edges.csv
printf '1,2\n3,4\n5,6\n' >features.csv
printf '0\n1\n0\n' >labels.csv
printf '0\n0\n0\n' >one_class.csv
mkdir split
printf '0\n' >split/train.csv
printf '1\n' >split/valid.csv
printf '2\n' >split/test.csv
csv() {
  plimsoll import csv --edges edges.csv --features features.csv --quiet "$@"
}
csv --out no_labels.plim
run plimsoll train no_labels.plim
expect 3 "no_labels.plim has no labels" "import it with labels"
csv --labels labels.csv --out no_split.plim
run plimsoll train no_split.plim
expect 3 "no training nodes" "train split"
csv --labels one_class.csv --split-dir split --out one_class.plim
run plimsoll train one_class.plim
expect 3 "single class"

# --data_root.
run plimsoll train a.plim --data_root .
expect 2 "either the store a.plim or --data_root ."
run plimsoll train --data_root nowhere
expect 6 "--data_root nowhere"
run plimsoll train --data_root edges.csv
expect 2 "is a file"
run plimsoll train --data_root empty
expect 3 "holds no store" "plimsoll import"
run plimsoll train --data_root .
expect 2 "4 stores: a.plim, no_labels.plim, no_split.plim, one_class.plim" "plimsoll train ./a.plim"
mkdir -p data/ogbn_a/raw data/ogbn_b/raw
run plimsoll train --data_root data
expect 2 "2 data sets: ogbn_a, ogbn_b" "--data_root data/ogbn_a"
mkdir one && mv no_labels.plim one/
run plimsoll train --data_root one
expect 3 "one/no_labels.plim has no labels"

# The save folder.
mkdir -p models
touch models/last.pth
run plimsoll train a.plim
expect 7 "models already holds a run" "--resume models" "--force"
run plimsoll train a.plim --resume elsewhere
expect 6 "--resume elsewhere: there is no last.pth"
run plimsoll train a.plim --resume models/last.pth
expect 2 "is a file; give the folder"
run plimsoll train a.plim --resume models --save_dir other
expect 2 "leave --save-dir other out"
run plimsoll train a.plim --save-dir edges.csv
expect 2 "--save-dir edges.csv is a file"

# Memory: refused with the figures, before anything is loaded or made.
run plimsoll train a.plim --memory 100M --save-dir new
expect 4 "the limit is 100.0 MiB" "this training needs" "at least" "raise --memory"
[ ! -e new ] || fail "the save folder was made for nothing"

# predict.
run plimsoll predict a.plim --out p.npy
expect 2 "--checkpoint is missing"
run plimsoll predict a.plim --checkpoint nowhere.pth --out p.npy
expect 6 "there is no checkpoint nowhere.pth"
run plimsoll predict a.plim --checkpoint models --out p.npy
expect 2 "models is a folder" "models/best.pth"
run plimsoll predict a.plim --checkpoint model.pth --out p.npy --logits --embeddings
expect 2 "--embeddings" "--logits"
run plimsoll predict a.plim --checkpoint model.pth --out p.npy --split tset
expect 2 "did you mean test?"
run plimsoll predict a.plim --checkpoint model.pth --out edges.csv
expect 7 "edges.csv exists; give --force"
run plimsoll predict a.plim --checkpoint model.pth --out p.npy --ids p.npy
expect 2 "give two different files"
run plimsoll predict a.plim --checkpoint model.pth --out ""
expect 2 "--out is empty; name a file"
run plimsoll predict a.plim --checkpoint model.pth --out p.npy --ids edges.csv
expect 7 "edges.csv exists; give --force to replace it, or choose another --ids"
mkfifo pipe
run plimsoll predict a.plim --checkpoint model.pth --out p.npy --ids pipe --force
expect 2 "--ids pipe is not a regular file; name another one"
[ -p pipe ] || fail "--force replaced a pipe"
run plimsoll predict a.plim --checkpoint model.pth --out p.npy --ids no/ids.npy
expect 6 "cannot write --ids no/ids.npy: the folder no does not exist"
run plimsoll predict a.plim --checkpoint model.pth --out no/p.npy
expect 6 "the folder no does not exist"
run plimsoll predict no_split.plim --checkpoint model.pth --out p.npy
expect 3 "no nodes in this split"
[ ! -e p.npy ] || fail "something was written"

# Help and completion know the commands.
for command in train predict; do
  run plimsoll $command --help
  expect 0 "Usage: plimsoll $command" "Examples"
  awk 'length($0) > 100 { exit 1 }' output || fail "$command --help is wider than 100 columns"
done
for shell in bash zsh fish; do
  run plimsoll completion $shell
  expect 0 "checkpoint-minutes"
done
exit 0
