#!/bin/sh
# The main job on a synthetic graph, in the folder demo/: generate, import, inspect.
set -eu
cd "$(dirname "$0")/.."
plimsoll=build/release/plimsoll
rm -rf demo
mkdir demo

say() {
  printf '\n\033[1m$ plimsoll %s\033[0m\n' "$*"
  "$plimsoll" "$@"
}
# A hundredth of ogbn-papers100M, as OGB would ship it; then the import, in less memory than the files take.
say synth papers100M --scale 0.01 --seed 1 --format ogb --stored --out demo/papers-bin
say import ogb demo/papers-bin --out demo/papers.plim --memory 256M
say inspect demo/papers.plim --verify
printf '\nThe store is in demo/papers.plim. Its files are plain arrays: docs/store-format.md.\n'
