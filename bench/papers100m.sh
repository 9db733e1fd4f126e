#!/bin/sh
# bench/papers100m.sh [--folder DIR] [--scale X] [--threads N] [--undirected]: epochs on synth papers100M under memory
# limits, as a Markdown table; the memory over time of the last run goes to
# DIR/papers100m-memory.csv. Limits shrink with the scale. Each run is held to its limit by a cgroup where one can be made.
set -eu
folder=.
scale=1
threads=2
undirected=no
while [ $# -gt 0 ]; do
  case $1 in
    --folder) folder=$2; shift 2 ;;
    --scale) scale=$2; shift 2 ;;
    --threads) threads=$2; shift 2 ;;
    --undirected) undirected=yes; shift ;;
    *) sed -n '2,4s/^# //p' "$0"; [ "$1" = --help ] && exit 0 || exit 2 ;;
  esac
done
here=$(cd "$(dirname "$0")" && pwd)
plimsoll=$here/../build/release/plimsoll
[ -x "$plimsoll" ] || { echo "build first: make build" >&2; exit 2; }
work=$(mktemp -d "$folder/plimsoll-papers-XXXXXX")
cgroup=""
trap '[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null || true; rm -rf "$work"' EXIT
cores=$(seq -s , 0 $((threads - 1)))

# A store of a direction; kept where the folder has one already.
store() {
  kept=$folder/papers100M-$scale-$1.plim
  [ -d "$kept" ] || "$plimsoll" synth papers100M --scale "$scale" "--$1" --seed 1 --out "$kept" --quiet >&2
  echo "$kept"
}

# limited BYTES COMMAND...: held to the limit by the kernel, if it lets us, and to the cores.
limited() {
  bytes=$1
  shift
  for place in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ $place = /sys/fs/cgroup/memory ] || echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
    file=memory.max
    [ $place = /sys/fs/cgroup ] || file=memory.limit_in_bytes
    if mkdir "$place/plimsoll-bench-$$" 2>/dev/null; then
      cgroup=$place/plimsoll-bench-$$
      if echo "$bytes" >"$cgroup/$file" 2>/dev/null; then break; fi
      rmdir "$cgroup"
      cgroup=""
    fi
  done
  if [ -n "$cgroup" ]; then
    ended=0
    taskset -c "$cores" sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$@" || ended=$?
    rmdir "$cgroup"
    cgroup=""
    return $ended
  else
    taskset -c "$cores" "$@"
  fi
}

value() { sed -n "s/^  \"$1\": \\([0-9.e-]*\\),*\$/\\1/p" "$work/run/results.json"; }
# row WORK GIB TARGET THEIRS DIRECTION OPTIONS...
row() {
  name=$1 gib=$2 target=$3 theirs=$4 direction=$5
  shift 5
  graph=$(store "$direction")
  bytes=$(awk "BEGIN { printf \"%d\", $gib * $scale * 1024 * 1024 * 1024 }")
  rm -rf "$work/run"
  limited "$bytes" "$plimsoll" train "$graph" --device cpu --memory "$((bytes / 1024))K" --threads "$threads" --save-dir "$work/run" --quiet \
    --epochs 1 --memory-log "$work/memory.csv" "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 0; }
  batches=$(awk "BEGIN { n = $(value batch_size); t = int(1207179 * $scale); print int((t + n - 1) / n) }")
  rate=$(value batches_per_second)
  awk "BEGIN { printf \"| %s | %.1f GiB | %s | %.0f s | %.1f GiB | %.1f GiB | %s |\\n\", \"$name\", $bytes / 2^30, \"$target\", \
    $batches / $rate / $scale, $(value peak_memory_bytes) / 2^30, $(value planned_memory_bytes) / 2^30, \"$theirs\" }"
  sed -n 's/^\(speed\|          the\|disk\)/    \1/p' "$work/log" >&2
}

printf '\nScale %s, %s threads. Seconds are those of an epoch of full size.\n\n' "$scale" "$threads"
printf '| work | limit | target | an epoch | peak | planned | PyG |\n|---|---|---|---|---|---|---|\n'
small="--batch-size 128 --fanout 3,2 --hidden 16 --model gcn"
large="--batch-size 1024 --fanout 15,10 --hidden 256 --model gcn"
deep="--batch-size 1024 --fanout 10,10,10 --hidden 256 --model sage"
row "batch 128, [3,2], gcn h16, directed" 4 "≤ 60 s" "dies" directed $small
row "the same" 16 "≤ 15 s" "152 s, 128 GB and a GPU" directed $small
row "batch 1024, [15,10], gcn h256, directed" 16 "≤ 120 s" "never fitted in 256 GB" directed $large
cp "$work/memory.csv" "$folder/papers100m-memory.csv"
[ $undirected = no ] || row "batch 1024, [10,10,10], sage h256, undirected" 16 "≤ 15 min" "about 390 GB" undirected $deep
