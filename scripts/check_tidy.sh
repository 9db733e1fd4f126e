#!/bin/sh
# check_tidy.sh BUILD_FOLDER [all]: clang-tidy with the configuration in .clang-tidy over the 24 source files that were changed last, outside of
# the rooms that include torch or CLI11, whose headers take it half a minute a file; with `all` (make tidy) over every source file.
set -eu
build=$1
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }
all() { find src -name '*.cc' | sort; }
recent() {
  git log --format= --name-only -- 'src/*.cc' 2>/dev/null | awk '!seen[$0]++' | while read -r file; do
    case $file in src/nn/* | src/train/* | src/cli/*) ;; *) [ ! -f "$file" ] || echo "$file" ;; esac
  done | head -n 24
}
files=$([ "${2:-}" = all ] || recent)
[ -n "$files" ] || files=$(all)
echo "$files" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg="-include$PWD/scripts/tidy_torch.h"
