#!/bin/sh
# precompute: a store of the first layer's sums learns what the store it was made from learns with all
# neighbours in that layer, under a tight limit bit for bit the same; it is made under a limit, and what does
# not fit together is refused.
. "$(dirname "$0")/lib.sh"
needs_training

plimsoll synth --nodes 40000 --edges 400000 --classes 8 --features 64 --seed 3 --feature-type f32 --out a.plim --quiet

series() {
  sed -n '/"series"/,$p' "$1/results.json" | sed -n "s/^ *\"$2\": \([^,]*\),*\$/\1/p"
}
# The sums are the same but for the order of the additions, and dropout's draws are the nodes' own.
close() {
  paste "$1.$3" "$2.$3" | awk -v what="$1 and $2, $3" -v most="$4" '
    { d = $1 - $2; if (d < 0) d = -d; if (d > most) { print what ": " $1 " and " $2; bad = 1 } } END { exit bad || NR == 0 }' ||
    fail "not the same learning"
}
train() {
  folder=$1
  store=$2
  shift 2
  timeout 600 "$PLIMSOLL" train "$store" --save-dir "$folder" --hidden 32 --batch-size 512 --epochs 3 --seed 5 --verbose \
    --device cpu "$@" >output 2>&1 || fail "train $folder: exit code $?"
  for key in loss valid_acc; do series "$folder" $key >"$folder.$key"; done
}

for model in sage gcn; do
  plimsoll precompute a.plim --model $model --out $model.plim --quiet
  run "$PLIMSOLL" inspect $model.plim --verify
  expect 0 "sums of $model's first layer"
  [ "$(stat -c %i a.plim/neighbors.u32)" = "$(stat -c %i $model.plim/neighbors.u32)" ] || fail "the lists were copied"
  for eval in sampled full; do
    train plain-$model-$eval a.plim --model $model --fanout 5,all --eval $eval
    train sums-$model-$eval $model.plim --model $model --fanout 5,all --eval $eval
    close plain-$model-$eval sums-$model-$eval loss 0.0005
    close plain-$model-$eval sums-$model-$eval valid_acc 0.003
  done
  echo "$model learns the same from its sums"
done

# From disk, with a plan that keeps to the limit.
minimum=$(plimsoll plan sage.plim --model sage --fanout 5,all --hidden 32 --batch-size 512 --device cpu --json |
  sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p' | head -n 1)
train tight sage.plim --model sage --fanout 5,all --memory "$((minimum / 1024 + 4096))K"
grep -q "rows were not in memory" output || fail "nothing came from the disk: this tests nothing"
cmp -s tight.loss sums-sage-sampled.loss || fail "a tight limit changes the losses"

# The sums of a tight run are those of a roomy one.
plimsoll precompute a.plim --model sage --out tight.plim --memory 128M --quiet
cmp -s tight.plim/features.f32 sage.plim/features.f32 || fail "the limit changes the sums"

run "$PLIMSOLL" precompute a.plim --model sage --out x.plim --memory 56M --threads 2
expect 4 "raise --memory by"

# Going on needs no option again.
run timeout 600 "$PLIMSOLL" train sage.plim --resume sums-sage-sampled --epochs 4 --device cpu --quiet
expect 0 "Epoch 004"

# A model trained on sums works on the features, too.
plimsoll predict a.plim --checkpoint sums-sage-full/best.pth --eval full --split test --out a.npy --quiet
plimsoll predict sage.plim --checkpoint sums-sage-full/best.pth --eval full --split test --out s.npy --quiet
[ "$(stat -c %s a.npy)" = "$(stat -c %s s.npy)" ] || fail "not as many predictions"
[ "$(cmp -l a.npy s.npy | wc -l)" -lt 80 ] || fail "more than one prediction in a hundred differs"

# What does not go together.
run "$PLIMSOLL" train sage.plim --model gcn --fanout 5,all --save-dir x
expect 2 "sage.plim holds the sums of sage's first layer" "--model sage"
run "$PLIMSOLL" train sage.plim --model sage --fanout 5,5 --save-dir x
expect 2 "the last fan-out must be all: --fanout 5,all, not 5,5"
run "$PLIMSOLL" plan gcn.plim --model gcn --norm sampled --fanout 5,all
expect 2 "--norm sampled needs the store it was made from"
run "$PLIMSOLL" precompute sage.plim --out again.plim
expect 2 "already"
run "$PLIMSOLL" precompute a.plim --out a.plim --force
expect 2 "is the store itself"
run "$PLIMSOLL" precompute a.plim --out sage.plim
[ "$code" -ne 0 ] || fail "a store was overwritten without --force"
[ ! -e x ] && [ ! -e x.plim ] && [ ! -e again.plim ] || fail "something was made all the same"
