#!/bin/sh
# The trainings that are hardest to hold: a hub that every neighbourhood with all neighbours contains, batches
# of 1 and of 100,000 seeds, an evaluation that begins while training's buffers live. Under a limit that the
# kernel enforces, the plan's minimum and a little more, each runs to the end, stays below it, needs what was
# planned within 10 %, and learns what a run with plenty of memory learns, bit for bit. Below the minimum each
# is refused before it does anything.
. "$(dirname "$0")/lib.sh"
. "$TESTS/scenario/limit.sh"
needs_training
make_cgroup extremes

# holds WHAT STORE OPTIONS...
holds() {
  what=$1
  shift
  run timeout 600 "$PLIMSOLL" train "$@" --memory 4G --save-dir whole --quiet --force
  expect 0 "Epoch "
  losses whole/results.json >wanted
  least=$(minimum "$@" --memory 4G)
  [ -n "$least" ] || fail "no plan for $what"
  for limit in "$least" $(((least + least / 12) / 4096 * 4096)); do
    run inside "$limit" "$PLIMSOLL" train "$@" --memory "$limit" --save-dir tight --quiet --force
    expect 0 "Epoch "
    [ "$(kills)" = 0 ] || fail "the kernel killed something"
    check tight "$limit" "$what"
    losses tight/results.json >found
    cmp wanted found || fail "$what: other losses or accuracies under $limit bytes"
  done
  run inside "$least" "$PLIMSOLL" train "$@" --memory $((least - mib)) --save-dir refused --quiet
  expect 4 "this training needs" "MiB at least" "raise --memory"
  [ ! -e refused ] || fail "$what: the save folder was made for nothing"
}

# A node that is everybody's neighbour, and a ring of the others.
mkdir split
awk 'BEGIN {
  n = 200000
  for (k = 0; k < 50; k++) {
    for (j = 0; j < 64; j++) row[k] = row[k] (j ? "," : "") (j % 5 == k % 5) / 2 + k * j * 31 % 97 / 97
  }
  for (i = 0; i < n; i++) {
    print i ",0\n" i "," (7 * i + 3) % n >"edges.csv"
    print row[i % 50] >"features.csv"
    print i % 5 >"labels.csv"
  }
  for (i = 0; i < 1500; i++) print i * 131 + 1 >("split/" (i % 3 ? "train" : i % 2 ? "valid" : "test") ".csv")
}'
plimsoll import csv --edges edges.csv --features features.csv --labels labels.csv --split-dir split --undirected --quiet \
  --out hub.plim
rm -r split ./*.csv
holds "hub, gcn" hub.plim --model gcn --fanout all,all --batch-size 500 --hidden 32 --epochs 2
holds "hub, gat" hub.plim --model gat --heads 4 --fanout all,all --batch-size 500 --hidden 32 --epochs 1

plimsoll synth papers100M --scale 0.0004 --seed 1 --quiet --out papers.plim
holds "batches of 1" papers.plim --model gcn --fanout 3,2 --batch-size 1 --hidden 32 --epochs 1
# Small batches leave the least room for an evaluation with all neighbours.
for evaluation in sampled full; do
  holds "--eval $evaluation" papers.plim --model sage --fanout 5,3 --batch-size 64 --hidden 64 --epochs 2 --eval $evaluation
done

plimsoll synth --nodes 170000 --edges 400000 --classes 8 --features 32 --seed 2 --quiet --out wide.plim
holds "batches of 100,000" wide.plim --model sage --fanout 5,5 --batch-size 100000 --hidden 32 --epochs 1

# Fewer training nodes than a batch has: the batches of an evaluation are the largest ones.
mkdir few
awk 'BEGIN {
  n = 20000
  for (i = 0; i < n; i++) {
    for (k = 1; k <= 8; k++) print (i * 7919 + k * 104729) % n "," i >"few/edges.csv"
    for (j = 0; j < 32; j++) printf "%s%s", (i * (j + 3)) % 101 / 101, j < 31 ? "," : "\n" >"few/features.csv"
    print i % 4 >"few/labels.csv"
    print i >("few/" (i < 100 ? "train" : i < 9000 ? "valid" : "test") ".csv")
  }
}'
plimsoll import csv --edges few/edges.csv --features few/features.csv --labels few/labels.csv --split-dir few --quiet --out few.plim
holds "few training nodes" few.plim --model sage --fanout 10,5 --batch-size 8192 --hidden 256 --epochs 1
check whole $((4096 * mib)) "few training nodes and plenty of memory"
