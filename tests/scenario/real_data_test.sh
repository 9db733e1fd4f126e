#!/bin/sh
# Real graphs in OGB's layouts import with the counts that are known of them.
. "$(dirname "$0")/lib.sh"
[ -d "$DATA/cora" ] || skip "no data at $DATA (set PLIMSOLL_DATA)"

check() {
  name=$1 nodes=$2 edges=$3 classes=$4
  shift 4
  run plimsoll import ogb "$DATA/$name" --out "$name.plim" "$@"
  expect 0 "wrote $name.plim: $nodes nodes, $edges edges"
  run plimsoll inspect "$name.plim" --verify
  expect 0 "$classes classes" "match their checksums"
}
check cora 2,708 10,556 7
check citeseer 3,327 9,104 6
check computers 13,752 491,722 10
check physics 34,493 495,924 5
check arxiv-structure 169,343 1,166,243 40 --directed --features f32
