#!/bin/sh
# Bad input gets a message that names the file, the place and what to do, the documented exit code, and
# leaves nothing behind. Starts from a good folder of csv files and spoils one thing at a time.
. "$(dirname "$0")/lib.sh"
golden=$TESTS/golden

# spoil: a fresh good copy; the caller damages it.
spoil() {
  rm -rf good out.plim out.plim.partial
  mkdir good
  printf '0,1\n1,2\n2,0\n3,0\n' >good/edges.csv
  printf '1,2\n3,4\n5,6\n7,8\n' >good/features.csv
  printf '0\n1\nnan\n1\n' >good/labels.csv
  mkdir good/split
  printf '0\n' >good/split/train.csv
  printf '1\n' >good/split/valid.csv
  printf '3\n' >good/split/test.csv
}
# refuse CODE TEXT...: importing the csv files must end so, with nothing left behind.
refuse() {
  run plimsoll import csv --edges good/edges.csv --features good/features.csv --labels good/labels.csv \
    --split-dir good/split --out out.plim
  expect "$@"
  [ ! -e out.plim ] && [ ! -e out.plim.partial ] || fail "something is left behind"
}

spoil; run plimsoll import csv --edges good/edges.csv --features good/features.csv \
  --labels good/labels.csv --split-dir good/split --out out.plim
expect 0 "wrote out.plim"
spoil; printf '0,4\n' >>good/edges.csv; refuse 3 "edges.csv" "line 5" "4"
spoil; printf '0,-1\n' >>good/edges.csv; refuse 3 "edges.csv" "line 5" "-1"
spoil; printf '0,4294967296\n' >>good/edges.csv; refuse 3 "edges.csv" "line 5"
spoil; printf '0,1,2\n' >>good/edges.csv; refuse 3 "line 5 has 3 fields, 2 expected"
spoil; printf '0,x\n' >>good/edges.csv; refuse 3 "line 5" "'x'"
spoil; : >good/edges.csv; refuse 3 "edges.csv"
spoil; printf '1,1\n2,2\n' >good/edges.csv; refuse 3 "no edge is left"
spoil; printf '9,9,9\n' >>good/features.csv; refuse 3 "features.csv"
spoil; printf '1,2\n3\n5,6\n7,8\n' >good/features.csv; refuse 3 "line 2 has 1 field"
spoil; printf '1,2\n3,nan\n5,6\n7,8\n' >good/features.csv; refuse 3 "features.csv, line 2" "not finite"
spoil; printf '1,2\n3,inf\n5,6\n7,8\n' >good/features.csv; refuse 3 "features.csv, line 2" "not finite"
spoil; printf '1,2\n3,1e6\n5,6\n7,8\n' >good/features.csv; refuse 3 "line 2" "f16" "f32"
spoil; : >good/features.csv; refuse 3 "features.csv"
spoil; printf '0\n1.5\nnan\n1\n' >good/labels.csv; refuse 3 "labels.csv" "line 2" "1.5"
spoil; printf '0\n-7\nnan\n1\n' >good/labels.csv; refuse 3 "labels.csv" "line 2" "-7"
spoil; printf '0\n1\n' >good/labels.csv; refuse 3 "only 2 nodes"
spoil; printf '0\n2147483647\nnan\n1\n' >good/labels.csv; refuse 3 "labels.csv, line 2" "2147483647" "from 0 to 2147483646"
spoil; printf '0\n2147483646\nnan\n1\n' >good/labels.csv; refuse 3 "labels.csv, line 2" "2,147,483,647 classes" "only 3 nodes"
spoil; printf '0,1,0.5\n1,2,1\n' >good/edges.csv; refuse 3 "edges.csv, line 1 has 3 columns" "cut -d, -f1,2"
spoil; sed -i '1i node_id,a' good/features.csv; refuse 3 "features.csv, line 1" "node_id"
spoil; sed -i '1i a,1' good/features.csv; refuse 3 "features.csv, line 1, field 1" "looks like a header"
spoil; printf '# Notes\n\nThis is a text.\n' >good/edges.csv; refuse 3 "edges.csv, line 2 is empty" "one edge per line: source,destination"
spoil; printf '# Notes\nThis is a text.\n' >good/edges.csv; refuse 3 "edges.csv, line 2 has 1 field" "one edge per line: source,destination"
spoil; printf 'name,age\nann,7\n' >good/features.csv; refuse 3 "features.csv, line 2, field 1: 'ann' is not a number" "--features takes a file with one node per line"
spoil; rm good/labels.csv; mkdir good/labels.csv; refuse 3 "labels.csv is not a text file" "--labels takes a file with one node per line"
spoil; printf '4\n' >good/split/valid.csv; refuse 3 "valid.csv" "line 1"
spoil; printf '0\n' >good/split/valid.csv; refuse 3 "valid.csv" "node 0" "also in the train split"
spoil; printf '2\n' >good/split/valid.csv; refuse 3 "node 2" "no label"
spoil; rm good/features.csv; refuse 6 "features.csv"
spoil; gzip -c good/edges.csv | head -c 20 >good/short; mv good/short good/edges.csv; refuse 3 "edges.csv"

# Zip archives and arrays.
ogb() {
  rm -rf out.plim
  run plimsoll import ogb bad --out out.plim
  expect "$@"
  [ ! -e out.plim ] && [ ! -e out.plim.partial ] || fail "something is left behind"
}
fresh() {
  rm -rf bad
  cp -r "$golden/$1" bad
}
fresh ogb_npz; truncate -s 600 bad/raw/data.npz; ogb 3 "data.npz"
fresh ogb_npz_stored; printf X | dd of=bad/raw/data.npz bs=1 seek=300 conv=notrunc 2>/dev/null; ogb 3 "data.npz"
fresh ogb_npz; : >bad/raw/data.npz; ogb 3 "data.npz"
fresh ogb_npy; truncate -s -8 bad/raw/edge_index.npy; ogb 3 "edge_index.npy"
fresh ogb_npy; cp bad/raw/node_feat.npy bad/raw/edge_index.npy; ogb 3 "edge_index.npy" "float32"
fresh ogb_npy; cp bad/raw/edge_index.npy bad/raw/node_label.npy; ogb 3 "node_label.npy" "(2, 9)"
fresh ogb_csv; gzip -c /dev/null >bad/raw/edge-feat.csv.gz; ogb 3 "raw/edge-feat.csv.gz" "plimsoll import ogb bad --ignore edge-feat.csv.gz"
run plimsoll import ogb bad --out out.plim --ignore edge-feat
expect 0 "left out  edge-feat.csv.gz, by --ignore"
rm -r out.plim
run plimsoll import ogb bad --out out.plim --ignore edge-feat,edge_time
expect 2 "--ignore edge_time"
fresh ogb_npy; echo text >bad/raw/node_feat.npy; ogb 3 "node_feat.npy"
fresh ogb_csv; head -c 30 bad/raw/edge.csv.gz >x; mv x bad/raw/edge.csv.gz; ogb 3 "edge.csv.gz"
fresh ogb_csv; rm -r bad/raw; ogb 3 "bad"
fresh ogb_csv; cp -r bad/split/time bad/split/other; ogb 2 "--split" "other" "time"
run plimsoll import ogb bad --out out.plim --split third
expect 2 "third" "other" "time"
run plimsoll import ogb bad --out out.plim --split time
expect 0 "wrote out.plim"
run plimsoll import ogb bad --out out.plim --split time
expect 7 "out.plim exists" "--force"
run plimsoll import ogb missing --out new.plim
expect 6 "missing"
# No room for the stacks of so many threads.
with_little_room() { (ulimit -v 600000; "$@"); }
run with_little_room plimsoll synth arxiv --scale 0.1 --threads 200 --out new.plim
expect 6 "starts no more threads" "--threads"
# Root may do everything: there the program runs as nobody, from a copy that nobody can reach.
mkdir closed
chmod 755 . closed
as_user() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
  else
    chmod 555 closed
    "$@"
  fi
}
cp "$PLIMSOLL" ./program
run as_user ./program import ogb bad --split time --out closed/a.plim
expect 6 "closed/a.plim" "Permission denied"
run plimsoll import ogb bad --split time --out /proc/a.plim
expect 6 "/proc"
exit 0
