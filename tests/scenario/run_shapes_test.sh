#!/bin/sh
# Every shape of settings file in tests/golden/settings: what is said about it, once, and what would run.
. "$(dirname "$0")/run_lib.sh"
GOLDEN=$TESTS/golden/settings
cp "$GOLDEN"/*.json "$GOLDEN"/*.csv .
for repo in vision text; do
  mkdir -p repos/$repo
  cp repos/toy/train.sh repos/$repo/
done
# said FILE [OPTION]: the messages, then the plan.
said() {
  "$PLIMSOLL" run -ec "$@" -s 1 --dry-run >stdout 2>stderr || true
  sed "s|$WORK/*|WORK/|g" stderr
  sed '/^  seed /,$d' stdout
}
shapes=0
for expected in "$GOLDEN"/*.txt; do
  name=$(basename "$expected" .txt)
  said "$name.json" >output
  cmp -s "$expected" output || fail "$name: $(diff "$expected" output)"
  shapes=$((shapes + 1))
done
[ $shapes -ge 10 ] || fail "only $shapes shapes were found"

# --strict: every unknown key is an error. --lenient: none is.
run plimsoll run -ec unknown_keys.json --dry-run --strict
expect 3 "unknown_keys.json:3: error: unknown key category in this entry: it has no effect (4 times" "7 errors"
run plimsoll run -ec typos.json --dry-run --lenient
expect 3 "typos.json:3: warning: unknown key mutat in this entry; did you mean mutate?" "this entry has no repo"
run plimsoll run -ec typos.json --dry-run --lenient --strict
expect 2 "--strict"
