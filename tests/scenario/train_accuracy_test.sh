#!/bin/sh
# Training learns what it should: on real graphs, within a few points of what PyTorch Geometric reaches on the
# same files with the same settings (the table is in the data's README); on a synthetic one, edges help. A
# seed or two, so the bounds are wide; a wrong gradient or normalisation costs far more than that.
. "$(dirname "$0")/lib.sh"
needs_training

# test_acc OPTIONS...: the test accuracy at the best validation epoch.
test_acc() {
  run timeout 600 "$PLIMSOLL" train "$@" --save-dir models --force --quiet
  expect 0 "Epoch "
  accuracy=$(sed -n 's/^  "test_acc": \([0-9.]*\),$/\1/p' models/results.json)
  echo "$*: $accuracy"
}
# between LOW HIGH
between() {
  awk "BEGIN { exit !($accuracy >= $1 && $accuracy <= $2) }" || fail "test accuracy $accuracy, $1 to $2 expected"
}

plimsoll synth papers100M --scale 0.01 --out papers.plim --quiet
few="--hidden 64 --epochs 5 --batch-size 256 --log-steps 5"
test_acc papers.plim --model mlp $few
mlp=$accuracy
test_acc papers.plim --model sage $few
awk "BEGIN { exit !($accuracy > $mlp + 0.04) }" || fail "sage reaches $accuracy, without edges it is $mlp"

[ -d "$DATA/cora" ] && [ -d "$DATA/computers" ] || skip "the rest, no data at $DATA (set PLIMSOLL_DATA)"
plimsoll import ogb "$DATA/cora" --out cora.plim --quiet
plimsoll import ogb "$DATA/computers" --out computers.plim --quiet
same="--fanout all,all --epochs 200 --lr 0.01 --weight-decay 5e-4 --dropout 0.5 --eval full"
for seed in 0 1; do
  test_acc cora.plim --model gcn --hidden 16 --batch-size 140 $same --seed $seed
  between 0.79 0.84
done
test_acc cora.plim --model mlp --hidden 16 --batch-size 140 $same
between 0.52 0.63
test_acc computers.plim --model sage --hidden 64 --batch-size 200 --log-steps 4 $same
between 0.75 0.81
exit 0
