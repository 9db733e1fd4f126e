#!/bin/sh
# A command that was given something else than it reads says what that is, and the command it prints works.
. "$(dirname "$0")/lib.sh"
golden=$TESTS/golden

mkdir data
cp -r "$golden/ogb_csv" data/products
mv data/products/split/time data/products/split/sales_ranking
cp "$golden/pyg.npz" my.npz
cp -r "$golden/tiny.plim" tiny.plim
mkdir -p empty Cora/processed
: >Cora/processed/data.pt
: >Cora/processed/pre_filter.pt

# The command that the message ends with, run as it stands.
offered() {
  sed -n 's/.*\(plimsoll import [^;]*\)$/\1/p' output | head -n 1
}
works() {
  offer=$(offered)
  [ -n "$offer" ] || fail "no command is offered"
  store=${offer##*--out }
  eval "\"\$PLIMSOLL\" ${offer#plimsoll }" >output 2>&1 || fail "does not work: $offer"
  [ -e "$store/meta.json" ] || fail "no store came of: $offer"
  rm -r "$store"
}

for command in inspect plan train "predict --checkpoint tiny.plim/meta.json --out p.npy" "precompute --out p.plim"; do
  run plimsoll $command data/products
  expect 8 "data/products is not a store" "an OGB data set"
  works
  run plimsoll $command data
  expect 8 "holds the OGB data set products"
  works
  run plimsoll $command data/products/raw
  expect 8 "the raw/ folder of an OGB data set"
  works
  run plimsoll $command my.npz
  expect 8 "my.npz is not a store" "a NumPy archive"
  works
  run plimsoll $command Cora
  expect 8 "of PyG" "Cora/processed/data.pt Cora.npz" "plimsoll import npz Cora.npz --out Cora.plim"
  run plimsoll $command empty
  expect 8 "an empty folder"
  run plimsoll $command .
  expect 8 "holds the store tiny.plim; give ./tiny.plim"
  run plimsoll $command nowhere
  expect 6 "nowhere"
done

run plimsoll import ogb data --out x.plim
expect 3 "is not an OGB data set" "holds the OGB data set products"
works
run plimsoll import ogb data/products/raw --out x.plim
expect 3 "the raw/ folder"
works
run plimsoll import ogb my.npz --out x.plim
expect 3 "a NumPy archive"
works
run plimsoll import npz data/products --out x.plim
expect 3 "is not a NumPy archive" "an OGB data set"
works
run plimsoll import ogb tiny.plim --out x.plim
expect 3 "a store already; train on it: plimsoll train tiny.plim"
run plimsoll import npz tiny.plim --out x.plim
expect 3 "a store already"
run plimsoll import ogb Cora/processed --out x.plim
expect 3 "the processed/ folder of a data set of PyG" "Cora.npz"
run plimsoll import ogb empty --out x.plim
expect 3 "an empty folder"
run plimsoll import ogb data/products --out x.plim
expect 0 "train     from train.csv.gz" "wrote x.plim"

run plimsoll train --data_root my.npz
expect 2 "is a file" "plimsoll import npz my.npz"
run plimsoll train --data_root Cora/processed
expect 3 "the processed/ folder of a data set of PyG"

# What was read as what, for scripts.
run plimsoll import npz my.npz --out y.plim --json
expect 0 '"features": "x (float32, 6 x 3)"' '"not_read": []'
