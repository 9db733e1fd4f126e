#!/bin/sh
# The same seed gives the same bytes on any number of threads and in any memory; what synth writes as OGB
# files imports to the very store that it writes itself.
. "$(dirname "$0")/lib.sh"

run plimsoll synth papers100M --scale 0.001 --seed 7 --out one.plim --threads 1
expect 0 "111,060 nodes, 1,615,686 edges, 172 classes, 128 features" "homophily" "signal" \
  "train 1,207, valid 125, test 214" "wrote one.plim" "peak memory"
plimsoll synth papers100M --scale 0.001 --seed 7 --out five.plim --threads 5 --memory 100M --quiet
diff -r one.plim five.plim || fail "threads or memory change the bytes"
plimsoll synth papers100M --scale 0.001 --seed 8 --out other.plim --quiet
cmp -s one.plim/neighbors.u32 other.plim/neighbors.u32 && fail "another seed gives the same graph"

for stored in "" --stored; do
  # shellcheck disable=SC2086  # empty is no argument
  rm -rf raw
  plimsoll synth papers100M --scale 0.001 --seed 7 --format ogb $stored --out raw --quiet
  plimsoll import ogb raw --out imported.plim --force --quiet
  for file in one.plim/*; do
    name=$(basename "$file")
    [ "$name" = meta.json ] || cmp "$file" "imported.plim/$name" || fail "$name differs ($stored)"
  done
done

plimsoll synth arxiv --scale 0.01 --format ogb --out arxiv_raw --quiet
[ -f arxiv_raw/raw/edge.csv.gz ] || fail "arxiv does not come as csv.gz"
plimsoll import ogb arxiv_raw --out arxiv.plim --directed --quiet
plimsoll synth arxiv --scale 0.01 --out arxiv2.plim --directed --quiet
cmp arxiv.plim/features.f16 arxiv2.plim/features.f16 || fail "features differ through csv"
cmp arxiv.plim/neighbors.u32 arxiv2.plim/neighbors.u32 || fail "edges differ through csv"

run plimsoll synth --nodes 1000 --edges 5000 --classes 3 --features 7 --homophily 0.9 --signal 2 \
  --feature-type f32 --out own.plim --json
expect 0 '"nodes": 1000' '"peak_memory_bytes"'
run plimsoll synth arxiv --nodes 500 --edges 3000 --out few.plim
expect 0 "500 nodes, 3,000 edges, 40 classes"
# What is kept of each class counts: here it is more than all of the rest.
classes="--nodes 400000 --edges 100 --classes 200000 --features 64"
# shellcheck disable=SC2086  # several options
run plimsoll synth $classes --memory 60M --out nothing.plim
expect 4 "classes"
# shellcheck disable=SC2086
run plimsoll synth $classes --memory 100M --out nothing.plim
expect 4 "400,000 nodes need at least 131 MiB" "raise --memory to 131M"
# shellcheck disable=SC2086
run plimsoll synth $classes --memory 131M --out many.plim --json
expect 0
peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' output)
[ "$peak" -le $((131 << 20)) ] || fail "$peak bytes of 131 MiB"
run plimsoll synth papers100M --scale 0.001 --stored --out nothing.plim
expect 2 "--stored needs --format ogb"
# --force replaces stores and nothing else; progress that nobody reads ends nothing.
mkdir mine && echo precious >mine/thesis.txt
run plimsoll synth arxiv --scale 0.01 --out mine --force
expect 7 "is not a store"
[ -f mine/thesis.txt ] || fail "--force removed what was not a store"
run plimsoll synth arxiv --scale 0.01 --out few.plim --force
expect 0 "wrote few.plim"
plimsoll synth papers100M --scale 0.02 --out unread.plim 2>/dev/full >/dev/null || fail "a full stderr ends the run"
[ -f unread.plim/meta.json ] || fail "a full stderr loses the store"
for out in "" . /; do
  run plimsoll synth arxiv --scale 0.01 --out "$out" --force
  [ "$code" -eq 2 ] || [ "$code" -eq 7 ] || fail "--out '$out': exit $code"
done
run plimsoll synth arxiv --scale 0.01 --memory 8 --out nothing.plim
expect 2 "did you mean 8G?"
run plimsoll synth --out nothing.plim
expect 2 "--nodes and --edges"
run plimsoll synth papers100M --scale 0 --out nothing.plim
expect 2 "--scale"
run plimsoll synth papers100M --scale 0.001 --homophily 2 --out nothing.plim
expect 2 "--homophily 2: from 0 to 1"
[ ! -e nothing.plim ] || fail "a refused synth left something"
