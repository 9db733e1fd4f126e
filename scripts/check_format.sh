#!/bin/sh
# Fails where clang-format would change a file.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }
find src tests bench \( -name '*.h' -o -name '*.cc' \) -exec clang-format --dry-run --Werror {} +
