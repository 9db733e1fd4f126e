#!/bin/sh
# record_readme.sh [PLIMSOLL]: records the terminals of README.md (docs/images/quickstart.svg, batch.svg) with
# this program.
set -eu
here=$(dirname "$(realpath "$0")")
program=$(realpath "${1:-$here/../build/release/plimsoll}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/plimsoll"
export PATH="$work/bin:$PATH"
cp -r "$here/../examples" "$work/examples"
images=$(realpath "$here/../docs/images")
"$here/record_terminal.py" "$images/quickstart.svg" --columns 110 --folder "$work" \
  "plimsoll synth papers100M --scale 0.01 --seed 1 --out mini.plim" \
  "plimsoll train mini.plim --model sage --memory 500M --epochs 3 --save-dir models"
"$here/record_terminal.py" "$images/batch.svg" --columns 110 --folder "$work/examples" \
  "plimsoll run -ec settings.json -s 42" "plimsoll results"
