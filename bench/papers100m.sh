#!/bin/sh
# bench/papers100m.sh [--folder DIR] [--scale X] [--threads N] [--epochs N] [--directed-only] [--print]:
# epochs on synth papers100M under memory limits, as a Markdown table with this machine's own limits beside
# it. Each row trains N epochs (3) and evaluates once at the end; the last row, which takes long, trains one.
# The last epoch reads no window for a following one, so that its time is too short where the disk binds:
# more epochs show it less. It goes to docs/reference/benchmarks.md as well, and the memory over time of the
# third run to docs/images/papers100m-memory.svg, unless --print. Limits shrink with the scale. A cgroup
# holds each run to its limit where one can be made.
. "$(dirname "$0")/lib.sh"
folder=.
scale=1
threads=2
epochs=3
undirected=yes
print=no
take_options "folder scale threads epochs directed-only:undirected=no print:print=yes" "$@"
no_words
here=$(cd "$(dirname "$0")" && pwd)
docs=$here/../docs
needs_built "$plimsoll" build
work=$(mktemp -d "$folder/plimsoll-papers-XXXXXX")
cgroup=""
trap '[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null || true; rm -rf "$work"' EXIT
cores=$(seq -s , 0 $((threads - 1)))

# The store of a direction: the one that the folder has, or a new one in place of that of the other direction.
store() {
  kept=$folder/papers100M-$scale-$1.plim
  if [ ! -d "$kept" ]; then
    kept=$work/$1.plim
    [ -d "$kept" ] || { rm -rf "$work"/*.plim; "$plimsoll" synth papers100M --scale "$scale" "--$1" --seed 1 --out "$kept" --quiet >&2; }
  fi
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

# Figures of results.json, and of what was measured of the machine.
value() { sed -n "s/^ *\"$1\": \\([0-9.e+-]*\\),*\$/\\1/p" "$work/run/results.json" | head -n 1; }
machine() { sed -n "s/^ *\"$1\": \\([0-9.e+-]*\\),*\$/\\1/p" "$XDG_CACHE_HOME/plimsoll/machine.json" | head -n 1; }
# row WORK GIB TARGET THEIRS DIRECTION OPTIONS...
row() {
  name=$1 gib=$2 target=$3 theirs=$4 direction=$5
  shift 5
  graph=$(store "$direction")
  bytes=$(awk "BEGIN { printf \"%.0f\", $gib * $scale * 1024 * 1024 * 1024 }")
  XDG_CACHE_HOME=$work/$direction
  export XDG_CACHE_HOME
  [ -d "$XDG_CACHE_HOME" ] || "$plimsoll" plan "$graph" --device cpu --threads "$threads" --calibrate >/dev/null
  rm -rf "$work/run"
  limited "$bytes" "$plimsoll" train "$graph" --device cpu --memory "$((bytes / 1024))K" --threads "$threads" --save-dir "$work/run" --quiet \
    --epochs "$epochs" --eval-every "$epochs" --memory-log "$work/memory.csv" "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 0; }
  batches=$(awk "BEGIN { n = $(value batch_size); t = int(1207179 * $scale); print int((t + n - 1) / n) }")
  awk "BEGIN {
    of_disk = ($(value reads) / $(machine most_reads_per_second) + $(value bytes) / $(machine read_bytes_per_second)) / $(value training_time)
    busy = $(value forward) + $(value backward) + $(value step)
    binds = of_disk > 0.6 ? \"the disk\" : $(value waiting) < 0.15 * busy ? \"computing\" : \"making batches\"
    printf \"| %s | %.1f GiB | %s | %.0f s | %.1f GiB | %.1f GiB | %.2f M, %.0f GB, %.0f %% of the disk | %.0f | %s | %s |\\n\", \"$name\", $bytes / 2^30, \"$target\",
      $batches / $(value batches_per_second) / $scale, $(value peak_memory_bytes) / 2^30, $(value planned_memory_bytes) / 2^30,
      $(value reads) / 1e6 / $epochs, $(value bytes) / 1e9 / $epochs, 100 * of_disk, $(value window), binds, \"$theirs\" }"
}

limits() {
  awk "BEGIN { printf \"The machine, measured in the same run: %.0f random reads of %d bytes a second, %.1f GB/s in order; products of matrices %.0f GFLOP/s; %.1f M \", \
    $(machine reads_per_second), $(machine read_bytes), $(machine read_bytes_per_second) / 1e9, $(machine wide_flops) / 1e9, 1e-6 / $(machine row_seconds) }"
  echo "rows a second added up from memory by one thread, with the others busy."
}

table() {
  printf 'Scale %s, %s threads. Seconds are those of an epoch of full size; reads are those of the run with its evaluation, divided by its epochs.\n\n' "$scale" "$threads"
  printf '| work | limit | target | an epoch | peak | planned | reads | window | what binds | a PyG user |\n|---|---|---|---|---|---|---|---|---|---|\n'
  small="--batch-size 128 --fanout 3,2 --hidden 16 --model gcn"
  large="--batch-size 1024 --fanout 15,10 --hidden 256 --model gcn"
  deep="--batch-size 1024 --fanout 10,10,10 --hidden 256 --model sage"
  # shellcheck disable=SC2086  # lists of words
  {
    row "batch 128, [3,2], gcn h16, directed" 2 "≤ 20 s" "dies" directed $small
    row "the same" 4 "≤ 12 s" "dies" directed $small
    row "the same" 16 "≤ 3.5 s" "152 s, 128 GB and a GPU" directed $small
    row "batch 1024, [15,10], gcn h256, directed" 4 "≤ 50 s" "dies" directed $large
    row "the same" 16 "≤ 20 s" "never fitted in 256 GB" directed $large
    cp "$work/memory.csv" "$work/picture.csv"
    epochs=1
    [ $undirected = no ] || row "batch 1024, [10,10,10], sage h256, undirected" 16 "≤ 8 min" "about 390 GB" undirected $deep
  }
  echo
  limits
}

# Between the two marks of docs/reference/benchmarks.md.
write_docs() {
  awk -v table="$work/table.md" '
    /^<!-- end of bench\/papers100m.sh -->/ { skipped = 0 }
    !skipped { print }
    /^<!-- bench\/papers100m.sh -->/ { skipped = 1; while ((getline line <table) > 0) print line }' "$docs/reference/benchmarks.md" >"$work/benchmarks.md"
  cp "$work/benchmarks.md" "$docs/reference/benchmarks.md"
  "$plimsoll" report "$work/picture.csv" --figure memory --out "$docs/images/papers100m-memory.svg" \
    --title "papers100M × $scale: batch 1024, fan-out 15,10, hidden 256, one epoch with its evaluation" >&2
}

table >"$work/table.md"
cat "$work/table.md"
[ $print = yes ] || write_docs
