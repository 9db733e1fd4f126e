#!/bin/sh
# check_tidy.sh BUILD_FOLDER [all]: clang-tidy over every source file, with the configuration in .clang-tidy. The rooms
# that include torch or CLI11, whose headers take clang-tidy half a minute a file, are part of it with `all` (make tidy).
set -eu
build=$1
skipped='/src/(nn|train|cli)/'
[ "${2:-}" != all ] || skipped='^$'
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }
find "$PWD/src" -name '*.cc' | sort | grep -vE "$skipped" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg="-include$PWD/scripts/tidy_torch.h"
