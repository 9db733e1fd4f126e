#!/bin/sh
# fuzz.sh PARSER BUILD_FOLDER SECONDS: fuzzes one parser, starting from real files of its format. With
# `replay` instead of the seconds, it only reads these files and damaged copies of them, which needs no
# libFuzzer.
set -eu
parser=$1
program=$2/tests/fuzz/${parser}_fuzz
seconds=$3
here=$(dirname "$0")
golden=$here/../tests/golden
case $parser in
  npy) seeds=$golden/ogb_npy/raw ;;
  zip) seeds=$golden/ogb_npz/raw ;;
  csv) seeds=$golden/csv ;;
  meta) seeds=$golden/tiny.plim ;;
  settings | catalog) seeds=$here/../examples ;;
  pickle | recipe | journal | log | meter | slurm | training) seeds=$here/../tests/fuzz/seeds/$parser ;;
  *)
    echo "unknown parser $parser: npy, zip, csv, meta, settings, catalog, pickle, recipe, journal, log, meter, slurm or training" >&2
    exit 2
    ;;
esac
if [ "$seconds" = replay ]; then
  exec "$2/tests/fuzz/${parser}_replay" "$seeds"
fi
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
