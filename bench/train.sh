#!/bin/sh
# bench/train.sh [--scale S] [--folder DIR] [--device D]: trains a gcn on synthetic papers100M at two settings, everything
# resident, and sets each stage beside what the machine allows, measured in the same run. Needs 40 GB x S of disk.
set -eu
scale=0.0625
folder=.
device=cpu
while [ $# -gt 0 ]; do
  case $1 in
    --scale) scale=$2; shift 2 ;;
    --folder) folder=$2; shift 2 ;;
    --device) device=$2; shift 2 ;;
    *) sed -n '2,3s/^# //p' "$0"; [ "$1" = --help ] && exit 0 || exit 2 ;;
  esac
done
build=$(dirname "$0")/../build/release
[ -x "$build/bench/training" ] || { echo "build first: make bench builds it" >&2; exit 2; }
work=$(mktemp -d "$folder/plimsoll-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
"$build/plimsoll" synth papers100M --scale "$scale" --out "$work/papers.plim" --quiet >/dev/null
train() {
  name=$1
  shift
  "$build/plimsoll" train "$work/papers.plim" --model gcn --device "$device" --quiet --save-dir "$work/$name" "$@" \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}
train small --batch-size 128 --fanout 3,2 --hidden 16 --epochs 20 --log-steps 20
train large --batch-size 1024 --fanout 15,10 --hidden 256 --epochs 10 --log-steps 10
"$build/bench/training" "$work/papers.plim" "$work/small" "$work/large"
