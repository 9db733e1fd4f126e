#!/bin/sh
# Values at the ends of what a store can hold: sums beyond half precision, stores that say they have no
# columns or no nodes. Every command works or says why it does not; none is killed by a signal.
. "$(dirname "$0")/lib.sh"

# Nine neighbours of 60000 each: 65504 is the most that f16 holds, gcn's sum is above it.
for i in 1 2 3 4 5 6 7 8 9; do echo "$i,0"; done >edges.csv
for i in 0 1 2 3 4 5 6 7 8 9; do echo "1,60000"; done >features.csv
for i in 0 1 0 1 0 1 0 1 0 1; do echo "$i"; done >labels.csv
mkdir split
echo 0 >split/train.csv
echo 1 >split/valid.csv
echo 2 >split/test.csv
plimsoll import csv --edges edges.csv --features features.csv --labels labels.csv --split-dir split --undirected \
  --out big.plim --quiet
run plimsoll precompute big.plim --model gcn --out sums.plim
expect 3 "big.plim, node 0: the sum of its neighbours' column 1 is" "does not fit f16" "--feature-type f32"
[ ! -e sums.plim ] && [ ! -e sums.plim.partial ] || fail "something is left behind"
run plimsoll precompute big.plim --model gcn --out sums.plim --feature-type f32 --json
expect 0 '"feature_type": "f32"'
run plimsoll inspect sums.plim --verify
expect 0 "2 columns of f32" "match their checksums"
run plimsoll precompute big.plim --model sage --out means.plim
expect 0 "wrote means.plim"

# Single precision has an end, too.
sed 's/60000/3e38/' features.csv >huge.csv
plimsoll import csv --edges edges.csv --features huge.csv --labels labels.csv --split-dir split --undirected \
  --feature-type f32 --out huge.plim --quiet
run plimsoll precompute huge.plim --model gcn --out x.plim
expect 3 "huge.plim, node 0" "beyond single precision"
run plimsoll precompute huge.plim --model sage --out x.plim --feature-type f16
expect 3 "huge.plim, node"
[ ! -e x.plim ] || fail "something is left behind"

# say FIELD OLD NEW FILE...: a store that says so, its files emptied to fit.
say() {
  rm -rf odd.plim
  cp -r big.plim odd.plim
  sed -i "s/\"$1\": $2/\"$1\": $3/" odd.plim/meta.json
  shift 3
  for file in "$@"; do
    : >"odd.plim/$file"
    sed -i "/\"$file\"/,/}/ s/\"bytes\": [0-9]*/\"bytes\": 0/" odd.plim/meta.json
  done
}
refuse() {
  for command in inspect plan train "predict --checkpoint labels.csv --out p.npy" "precompute --out p.plim"; do
    run plimsoll $command odd.plim
    expect 8 "odd.plim/meta.json" "$@"
  done
}
say columns 2 0 features.f16
sed -i 's/"row_bytes": 4/"row_bytes": 0/' odd.plim/meta.json
refuse '"columns" is 0'
say columns 2 0
refuse '"columns" is 0'
say nodes 10 0
refuse '"nodes" is 0'
say row_bytes 4 0 features.f16
refuse '"row_bytes" is too small'
