#!/bin/sh
# One tiny graph in every input format gives byte-identical stores, equal to the golden one.
. "$(dirname "$0")/lib.sh"
golden=$TESTS/golden

run plimsoll import ogb "$golden/ogb_npz" --out ogb_npz/tiny.plim
[ "$code" -eq 6 ] || fail "an output folder whose parent is missing: exit $code"

for layout in ogb_npz ogb_npz_stored ogb_npy ogb_csv; do
  mkdir -p "$layout"
  run plimsoll import ogb "$golden/$layout" --out "$layout/tiny.plim" --threads 2
  expect 0 "features  from node" "the default for ogb" "1 self-loop dropped" "wrote $layout/tiny.plim: 6 nodes, 12 edges"
done
mkdir npz csv
run plimsoll import npz "$golden/tiny.npz" --out npz/tiny.plim --undirected
expect 0 "wrote npz/tiny.plim"
run plimsoll import csv --edges "$golden/csv/edges.csv" --features "$golden/csv/features.csv.gz" \
  --labels "$golden/csv/labels.csv" --split-dir "$golden/csv/split" --out csv/tiny.plim --undirected
expect 0 "wrote csv/tiny.plim"

for name in pyg pyg_pairs pyg_transposed; do
  mkdir $name
  run plimsoll import npz "$golden/$name.npz" --out $name/tiny.plim --undirected
  expect 0 "features  from x (float32, 6 x 3)" "valid     from val_mask (bool, 6)" "wrote $name/tiny.plim"
done
mkdir pyg_weighted
run plimsoll import npz "$golden/pyg_weighted.npz" --out pyg_weighted/tiny.plim --undirected
expect 3 "member edge_weight.npy belongs to the edges" "--ignore edge_weight"
run plimsoll import npz "$golden/pyg_weighted.npz" --out pyg_weighted/tiny.plim --undirected --ignore edge_weight
expect 0 "left out  edge_weight, by --ignore" "not read, because a store has no place for it: stopping_mask"

run plimsoll import npz "$golden/pyg_weighted.npz" --out quiet.plim --undirected --ignore edge_weight --quiet
expect 0 "note: not read, because a store has no place for it: stopping_mask"
for store in ogb_npz ogb_npz_stored ogb_npy ogb_csv npz csv pyg pyg_pairs pyg_transposed pyg_weighted; do
  diff -r "$golden/tiny.plim" "$store/tiny.plim" || fail "$store differs from the golden store"
done
