#!/bin/sh
# The batches of an epoch are saved before its evaluation begins: a training that is killed while it evaluates
# resumes with the evaluation, and learns what an undisturbed one learns.
. "$(dirname "$0")/lib.sh"
needs_training
plimsoll synth papers100M --scale 0.001 --seed 1 --quiet --out a.plim
options="--model sage --hidden 64 --batch-size 128 --fanout 5,5 --eval full"
# At the least limit it evaluates a node at a time, which takes seconds.
least=$("$PLIMSOLL" plan a.plim $options --memory 1G --json | sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p')
timeout 600 sh -c 'echo $$ >pid; exec "$@"' sh "$PLIMSOLL" train a.plim $options --epochs 2 --memory "$least" \
  --save-dir killed --quiet >output 2>&1 &
waiter=$!
until [ -e killed/last.pth ]; do
  kill -0 $waiter 2>/dev/null || fail "it ended before it wrote a checkpoint"
  sleep 0.01
done
kill -KILL "$(cat pid)"
wait $waiter || true
if grep -q "^Epoch" output; then fail "the epoch was evaluated before it was saved"; fi
run timeout 600 "$PLIMSOLL" train a.plim --resume killed --epochs 2
expect 0 "so far    0 epochs and 10 batches of the next" "Epoch 002"
run timeout 600 "$PLIMSOLL" train a.plim $options --epochs 2 --save-dir undisturbed --quiet
expect 0 "Epoch 002"
for each in killed undisturbed; do sed -n 's/^ *"\(loss\|valid_acc\|test_acc\)": /\1 /p' $each/results.json >$each.learned; done
cmp killed.learned undisturbed.learned || fail "after the kill it learned something else"
