#!/bin/sh
# fuzz.sh PARSER BUILD_FOLDER SECONDS: fuzzes one parser, starting from the golden files of its format.
set -eu
parser=$1
program=$2/tests/fuzz/${parser}_fuzz
seconds=$3
golden=$(dirname "$0")/../tests/golden
case $parser in
  npy) seeds=$golden/ogb_npy/raw ;;
  zip) seeds=$golden/ogb_npz/raw ;;
  csv) seeds=$golden/csv ;;
  meta) seeds=$golden/tiny.plim ;;
  *)
    echo "unknown parser $parser: npy, zip, csv or meta" >&2
    exit 2
    ;;
esac
[ -x "$program" ] || {
  echo "skipped: $program is not built (cmake --preset fuzz && cmake --build --preset fuzz)"
  exit 77
}
# New inputs go to a folder that is thrown away; an input that fails is printed in the log.
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
"$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="$found/" "$found" "$seeds" 2>"$found/log" || {
  cat "$found/log"
  exit 1
}
grep -E 'number_of_executed_units|DONE' "$found/log"
