#!/bin/sh
# check_tidy.sh [ROOM ...]: clang-tidy with the configuration in .clang-tidy over all of src, or over these
# rooms. It looks at the files as the build compiles them, a room's together: its time goes into libraries'
# headers, too.
set -eu
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }
cmake --preset tidy >/dev/null
rooms=$(echo "$*" | tr ' ' '|')
# Where files are joined, an included .cc file is no mistake.
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build/tidy/compile_commands.json | sort -u | grep -E "/src/([a-z]*/)?(${rooms:-[a-z]*})/" |
  xargs -P "${JOBS:-$(nproc)}" -n 1 clang-tidy -p build/tidy --quiet --checks=-bugprone-suspicious-include \
    --extra-arg=-Wno-unknown-warning-option --extra-arg="-include$PWD/scripts/tidy_torch.h"
