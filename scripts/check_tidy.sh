#!/bin/sh
# check_tidy.sh BUILD_FOLDER: clang-tidy over every source file, with the configuration in .clang-tidy.
set -eu
build=$1
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }
find src -name '*.cc' | sort | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option
