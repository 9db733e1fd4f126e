#!/bin/sh
# What a training shows at a terminal, narrow, wide, dumb or without Unicode, and in a pipe.
. "$(dirname "$0")/lib.sh"
needs_training
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 for a terminal"

plimsoll synth --nodes 20000 --edges 200000 --classes 5 --features 64 --seed 3 --out a.plim --quiet
run /usr/bin/python3 "$TESTS/scenario/train_terminal.py" "$PLIMSOLL" a.plim
expect 0

# A pipe gets the bare lines that scripts look for, and -q nothing else.
options="--hidden 16 --batch-size 128 --fanout 5,5 --epochs 2"
# shellcheck disable=SC2086
plimsoll train a.plim $options --save-dir piped -q >lines 2>errors
[ "$(grep -cE '^Epoch 00[12] \| Loss: [0-9.]+ \| Val: 0\.[0-9]{4} \| Test: 0\.[0-9]{4} \| Time: [0-9.]+s$' lines)" -eq 2 ] ||
  fail "not the lines of scripts: $(cat lines)"
[ "$(wc -l <lines)" -eq 2 ] || fail "-q prints more than a line an epoch: $(cat lines)"
[ ! -s errors ] || fail "-q prints on stderr: $(cat errors)"
# A resume is as quiet.
plimsoll train a.plim --resume piped --epochs 3 -q >lines 2>errors
[ "$(cat lines errors | wc -l)" -eq 1 ] || fail "-q on a resume: $(cat lines errors)"

# The closing block in plain words; what happens inside is behind -v.
# shellcheck disable=SC2086
run plimsoll train a.plim $options --save-dir words
expect 0 "learned   accuracy: test 0." ", the best of 2 epochs)" "speed     2 epochs in " "memory    peak " \
  "saved     words/best.pth  the best epoch" "words/last.pth  the last state" "words/results.json  all figures"
! grep -qE "^(stages|parts) " output || fail "internals without -v"
# shellcheck disable=SC2086
run plimsoll train a.plim $options --save-dir inside -v
expect 0 "stages    a batch takes " "parts     "
run plimsoll train a.plim --save-dir no -v -q
expect 2 "--verbose"

# The accuracy of a prediction is that of the training's best epoch.
run plimsoll predict a.plim --checkpoint words/best.pth --split test --out p.npy
expect 0 "accuracy  0." " test nodes" "wrote     p.npy"
wanted=$(sed -n 's/^  "test_acc": \([0-9.]*\),$/\1/p' words/results.json)
[ "$(sed -n 's/^accuracy  \([0-9.]*\):.*/\1/p' output)" = "$(printf '%.4f' "$wanted")" ] || fail "not $wanted"
run plimsoll predict a.plim --checkpoint words/best.pth --split all --out all.npy
! grep -q "^accuracy" output || fail "an accuracy of nodes without labels"

# The names of other scripts, and hints for what has another name here.
run plimsoll train a.plim --model GCN --device cuda:0 --num_layers 2 --hidden_channels 16 --early-stopping 3 \
  --learning_rate 0.01 --num-neighbors 5 5 --num_epochs 1 --save-dir names --dry 2
expect 2 "unknown option --dry"
run plimsoll train a.plim --model GraphSAGE --device cpu --num_layers 2 --hidden_channels 16 --early_stopping 3 \
  --learning_rate 0.01 --num-neighbors 5,5 --num_epochs 1 --save-dir names
expect 0 "sage, 2 layers, hidden 16, fan-out 5,5" "Epoch 001"
run plimsoll train a.plim --num_layers 3
expect 2 "--num-layers 3: there are as many layers as --fanout has numbers, 2 in 15,10; give --fanout 15,10,10"
CUDA_VISIBLE_DEVICES=2,3 run plimsoll train a.plim --device cuda:2
expect 2 "--device cuda:2: CUDA_VISIBLE_DEVICES=2,3 shows fewer GPUs"
run plimsoll train a.plim --lr_decay 0.9
expect 2 "unknown option --lr_decay; --schedule cosine or --schedule plateau"
run plimsoll train a.plim --gpu 0
expect 2 "unknown option --gpu; give --device cuda"
exit 0
