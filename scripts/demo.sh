#!/bin/sh
# The main job on a synthetic graph, in the folder demo/: generate, import, inspect, train.
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
if [ ! -e build/release/libplimsoll_train.so ]; then
  printf 'Training is left out: there was no libtorch to build it with (README.md).\n'
  exit
fi
# What can be learned without the edges, and what they add.
say train demo/papers.plim --model mlp --epochs 8 --save-dir demo/mlp
say train demo/papers.plim --model sage --epochs 8 --save-dir demo/sage
say predict demo/papers.plim --checkpoint demo/sage/best.pth --split test --out demo/predictions.npy

accuracy() {
  sed -n 's/^ *"test_acc": \([0-9.]*\),*$/\1/p' "$1/results.json" | head -1
}
awk -v mlp="$(accuracy demo/mlp)" -v sage="$(accuracy demo/sage)" 'BEGIN {
  printf "\nTest accuracy: %.1f %% without the edges (mlp), %.1f %% with them (sage).\n", 100 * mlp, 100 * sage }'
printf 'Checkpoints, which torch.load opens, and results.json are in demo/mlp and demo/sage.\n'
