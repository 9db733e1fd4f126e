#!/bin/sh
# Windows of batches change when something is read, and nothing else: with 1, 2, 7, 64 or all batches of a
# pass in a window, a training far below the size of its store finds the same losses and accuracies in the
# same digits, and predicts the same bytes. So does one that is stopped in the middle of a window and resumed
# with another.
. "$(dirname "$0")/lib.sh"
. "$TESTS/scenario/limit.sh"
needs_training

plimsoll synth papers100M --scale 0.003 --undirected --seed 1 --out f16.plim --quiet
plimsoll synth papers100M --scale 0.0015 --directed --feature-type f32 --seed 2 --out f32.plim --quiet
plimsoll precompute f16.plim --model sage --out sums.plim --quiet

# same STORE WINDOWS OPTIONS...: trains and predicts with each of the windows; the first is what the others
# must find.
same() {
  store=$1
  windows=$2
  shift 2
  options="--batch-size 64 --hidden 16 --device cpu --threads 2 $*"
  # shellcheck disable=SC2086  # lists of words
  {
    limit=$(($(minimum $store $options) + 64 * mib))
    rm -f wanted wanted.npy
    for window in $windows; do
      run timeout 600 "$PLIMSOLL" train $store $options --memory $limit --window $window --epochs 1 --save-dir run --force --verbose
      expect 0 "Epoch 001"
      [ $window = 1 ] || expect 0 " windows of "
      losses run/results.json >found
      run timeout 600 "$PLIMSOLL" predict $store --checkpoint run/last.pth --device cpu --threads 2 --memory $limit --window $window \
        --split test --logits --out found.npy --force --quiet
      expect 0
      [ -e wanted ] || { mv found wanted; mv found.npy wanted.npy; continue; }
      cmp wanted found || fail "$store, $*: --window $window has other losses or accuracies"
      cmp wanted.npy found.npy || fail "$store, $*: --window $window predicts something else"
    done
  }
}
same f16.plim "1 2 7 64 100000" --model sage --fanout 5,5
same f16.plim "1 7" --model gcn --fanout 4,3,2 --sampler labor
same f16.plim "1 64" --model mlp --fanout 1
same f32.plim "1 7" --model gat --heads 4 --fanout 5,3
same f32.plim "1 7" --model gcn --fanout 5,5 --eval full
same sums.plim "1 7" --model sage --fanout 5,all

# Stopped in the middle of a window, and resumed with a window of another size.
options="--batch-size 2 --hidden 16 --device cpu --threads 2 --model sage --fanout 10,10 --epochs 1"
# shellcheck disable=SC2086
{
  limit=$(($(minimum f16.plim $options) + 64 * mib))
  run timeout 600 "$PLIMSOLL" train f16.plim $options --memory $limit --window 1 --save-dir whole --force --quiet
  expect 0 "Epoch 001"
  losses whole/results.json >wanted
  "$PLIMSOLL" train f16.plim $options --memory $limit --window 16 --save-dir part --force --checkpoint-minutes 0.0001 \
    >output 2>&1 &
  training=$!
  tries=0
  until [ -e part/last.pth ]; do
    tries=$((tries + 1))
    [ $tries -lt 30000 ] || fail "no checkpoint within an epoch"
    sleep 0.01
  done
  kill -TERM $training || fail "it was over before it could be stopped"
  code=0
  wait $training || code=$?
  expect 9
  grep -q 'windows     [0-9]* batches' output || fail "it had no windows, so this shows nothing"
  run timeout 600 "$PLIMSOLL" train f16.plim --resume part --memory $limit --window 7 --device cpu --threads 2 --quiet
  expect 0 "Epoch 001"
}
losses part/results.json >found
cmp wanted found || fail "stopped in a window and resumed, it has other losses"
