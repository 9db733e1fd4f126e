#!/bin/sh
# check_tidy.sh BUILD_FOLDER: clang-tidy over every source file, with the configuration in .clang-tidy.
set -eu
build=$1
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }
# Only what the build knows: without libtorch, nn/ and train/ are not part of it.
find "$PWD/src" -name '*.cc' | sort | while read -r file; do
  ! grep -qF "\"file\": \"$file\"" "$build/compile_commands.json" || echo "$file"
done | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option \
  --extra-arg="-include$PWD/scripts/tidy_torch.h"
