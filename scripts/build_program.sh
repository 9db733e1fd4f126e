#!/bin/sh
# build_program.sh [LEVEL ...]: installs what the program needs and these levels of setup.sh, and builds
# build/release/plimsoll. In a fresh tree apt installs libtorch, which is mostly waiting for the disk, while
# everything that does not need it compiles. JOBS: how many compilers run at a time.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
scripts/setup.sh program
set -- training "$@"
if [ ! -e build/release/CMakeCache.txt ] && [ -n "$(scripts/setup.sh --missing "$@")" ]; then
  scripts/setup.sh "$@" &
  installing=$!
  # Without looking for what is half installed.
  cmake --preset release -DPLIMSOLL_TRAIN=OFF -DPLIMSOLL_TESTS=OFF
  cmake --build --preset release --target program -j "$jobs" || { wait; exit 1; }
  wait $installing
  cmake --preset release -DPLIMSOLL_TRAIN=ON -DPLIMSOLL_TESTS=ON
else
  scripts/setup.sh "$@"
  cmake --preset release
fi
cmake --build --preset release --target program -j "$jobs"
