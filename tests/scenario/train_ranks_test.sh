#!/bin/sh
# Several processes that train together learn what one learns: the same losses and accuracies but for
# rounding; a checkpoint of some ranks continues on any other number of them. What would be something else, or
# has no sense, is refused.
. "$(dirname "$0")/lib.sh"
needs_training
. "$TESTS/scenario/ranks_lib.sh"

# 3,000 training nodes in batches of 998 end with a batch of 6 seeds: for 8 ranks, some have none of it.
plimsoll synth --nodes 5000 --edges 60000 --classes 5 --features 24 --seed 4 --out a.plim --quiet
begin="train a.plim --hidden 16 --fanout 5,4 --threads 1 --quiet"
train="$begin --batch-size 998 --epochs 3"

run plimsoll $train --save-dir one
expect 0 "Epoch 003"
for ranks in 2 8; do
  run plimsoll $train --ranks $ranks --save-dir "ranks$ranks"
  expect 0 "Epoch 003"
  [ "$(grep -c 'Epoch 003' output)" -eq 1 ] || fail "more than one rank prints"
  learns_like one "ranks$ranks" $ranks
done

# Another model, another way of drawing, evaluated with all neighbours.
train_sage="train a.plim --model sage --sampler labor --eval full --hidden 16 --fanout 5,4 --batch-size 700
  --epochs 2 --threads 1"
run plimsoll $train_sage --quiet --save-dir sage
expect 0 "Epoch 002"
run plimsoll $train_sage --ranks 3 --save-dir sage3
expect 0 "3 ranks on this host, from --ranks" "3 ranks: "
learns_like sage sage3 3

# The checkpoint of 2 ranks continues in one process, and that of one process on 3 ranks.
run plimsoll $begin --batch-size 998 --epochs 1 --ranks 2 --save-dir moved
expect 0 "Epoch 001"
run plimsoll train a.plim --resume moved --epochs 2 --threads 1 --quiet
expect 0 "Epoch 002"
run plimsoll train a.plim --resume moved --epochs 3 --threads 1 --ranks 3 --quiet
expect 0 "Epoch 003"
learns_like one moved 3
run plimsoll train a.plim --resume moved --threads 1 --ranks 2
expect 0 "nothing left to do"

# Predictions, too, whichever nodes and however evaluated.
for options in "--split test" "--split all --logits" "--split valid --eval full" "--split all --eval full --embeddings"; do
  predict="predict a.plim --checkpoint one/best.pth --threads 1 --quiet --force $options"
  run plimsoll $predict --out one.npy --ids one_ids.npy
  expect 0 "wrote     one.npy"
  run plimsoll $predict --out ranks.npy --ids ranks_ids.npy --ranks 3
  expect 0 "wrote     ranks.npy"
  predicts_like one.npy ranks.npy
  cmp -s one_ids.npy ranks_ids.npy || fail "3 ranks write other ids: $options"
done
run plimsoll predict a.plim --checkpoint one/best.pth --out ranks.npy --ranks 2
expect 7 "ranks.npy exists"

# Refused, once and by name.
run plimsoll $train --ranks 2 --save-dir new --batch-norm
expect 2 "--batch-norm does not work with 2 ranks"
run plimsoll $train --ranks 2 --save-dir new --norm sampled
expect 2 "--norm sampled does not work with 2 ranks"
run plimsoll $begin --ranks 2 --save-dir new --batch-size 1
expect 2 "--batch-size 1: 2 ranks need a seed each"
run plimsoll $train --ranks 2 --save-dir one
expect 7 "one already holds a run"
[ "$(grep -c 'one already holds' output)" -eq 1 ] || fail "more than one process says so"
run plimsoll $train --ranks 2 --save-dir new --memory 64M
expect 4 "the limit is 64.0 MiB"
[ "$(grep -c 'the limit is' output)" -eq 1 ] || fail "more than one rank prints"
[ ! -e new/last.pth ] || fail "a refused run wrote something"

# The variables of torchrun, set by hand: each process finds its place.
port=$((20000 + $$ % 10000))
# as_rank RANK SIZE COMMAND...
as_rank() {
  rank=$1
  size=$2
  shift 2
  RANK=$rank WORLD_SIZE=$size LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    timeout 120 "$PLIMSOLL" "$@"
}
as_rank 1 2 $train --save-dir by_hand >output1 2>&1 &
other=$!
run as_rank 0 2 $train --save-dir by_hand
expect 0 "Epoch 003"
wait $other || fail "rank 1 failed: $(cat output1)"
[ ! -s output1 ] || fail "rank 1 prints: $(cat output1)"
learns_like one by_hand 2
export RANK=0
run plimsoll $train --save-dir new
expect 2 "RANK set, WORLD_SIZE, MASTER_ADDR, MASTER_PORT missing"
unset RANK
export RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
run plimsoll $train --ranks 4 --save-dir new
expect 2 "--ranks 4 and WORLD_SIZE=2 contradict each other"
unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT

# Each host has a store of its own. One that differs is refused, and both processes end.
plimsoll synth --nodes 5000 --edges 60000 --classes 5 --features 24 --seed 5 --out b.plim --quiet
port=$((port + 1))
as_rank 1 2 train b.plim --hidden 16 --fanout 5,4 --batch-size 998 --epochs 3 --threads 1 >output1 2>&1 &
other=$!
run as_rank 0 2 $train --save-dir new
expect 8 "has another store than rank 0" "give all hosts the same store"
code=0
wait $other || code=$?
[ "$code" -eq 8 ] || fail "rank 1 ended with $code"

# A rank whose store is missing ends all.
port=$((port + 1))
as_rank 1 2 train missing.plim --threads 1 >output1 2>&1 &
other=$!
run as_rank 0 2 $train --save-dir new
expect 6 "rank 1 on " "missing.plim"
wait $other && fail "rank 1 ended well"
exit 0
