#!/bin/sh
# Under a memory limit that the kernel enforces and that is far smaller than the store, training, evaluating,
# checkpointing and resuming run to the end, learn bit for bit what a run with everything in memory learns,
# stay below the limit, and need what the plan said within 10 %. Below the plan's minimum they are refused.
. "$(dirname "$0")/lib.sh"
. "$TESTS/scenario/limit.sh"
needs_training

make_cgroup limit

plimsoll synth papers100M --scale 0.002 --seed 1 --out a.plim --quiet
store=$(du -sb a.plim | cut -f 1)
for options in "--model gcn"; do
  options="$options --hidden 64 --batch-size 512 --fanout 10,5 --epochs 2"
  run timeout 600 "$PLIMSOLL" train a.plim $options --memory 2G --save-dir whole --quiet --force
  expect 0 "Epoch 002"
  check whole $((2048 * mib)) "everything resident"
  losses whole/results.json >wanted
  least=$(minimum a.plim $options)
  for limit in $((least + store / 2)) $((least + store / 20)) "$least"; do
    run inside "$limit" "$PLIMSOLL" train a.plim $options --memory "$limit" --save-dir tight --quiet --force
    expect 0 "Epoch 002"
    check tight "$limit" "${options%% --hidden*}"
    losses tight/results.json >found
    cmp wanted found || fail "other losses or accuracies under $limit bytes"
  done
  run inside "$least" "$PLIMSOLL" train a.plim $options --memory $((least - 2 * mib)) --save-dir refused --quiet
  expect 4 "at least"
  [ ! -e refused ] || fail "the save folder was made for nothing"
done

# Stopped and resumed at the minimum: the same end.
run inside "$least" "$PLIMSOLL" train a.plim ${options% --epochs 2} --epochs 1 --memory "$least" --save-dir half --quiet --force
expect 0 "Epoch 001"
run inside "$least" "$PLIMSOLL" train a.plim --resume half --epochs 2 --memory "$least" --quiet
expect 0 "Epoch 002"
losses half/results.json >found
cmp wanted found || fail "another end after resuming"
