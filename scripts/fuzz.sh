#!/bin/sh
# fuzz.sh PARSER BUILD_FOLDER SECONDS: fuzzes one parser from the seeds in tests/fuzz/seeds/PARSER.
set -eu
parser=$1
program=$2/tests/fuzz/${parser}_fuzz
seconds=$3
seeds=$(dirname "$0")/../tests/fuzz/seeds/$parser
[ -x "$program" ] || {
  echo "skipped: $program is not built (cmake --preset fuzz && cmake --build --preset fuzz)"
  exit 77
}
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
mkdir -p "$seeds"
# New inputs go to a folder that is thrown away; what crashes is printed in base64.
"$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="$found/" "$found" "$seeds" 2>"$found/log" || {
  cat "$found/log"
  exit 1
}
grep -E 'number_of_executed_units|DONE' "$found/log"
