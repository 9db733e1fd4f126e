#!/bin/sh
# bench/gpu.sh [--folder DIR] [--scale X] [--epochs N] [--directed-only] [--undirected-only] [--print]: epochs
# on synth papers100M on a GPU that makes its batches itself, with all of it in the GPU's memory and with 22
# GiB of it, as a Markdown table that also goes to docs/reference/benchmarks.md, unless --print. Needs a GPU,
# and 45 GB of disk at full size. GPU memory is what the driver counts for the process, every 0.2 s.
. "$(dirname "$0")/lib.sh"
folder=.
scale=1
epochs=4
directed=yes
undirected=yes
print=no
take_options "folder scale epochs directed-only:undirected=no undirected-only:directed=no print:print=yes" "$@"
no_words
here=$(cd "$(dirname "$0")" && pwd)
page=$here/../docs/reference/benchmarks.md
needs_built "$plimsoll" build
work_in "$folder" gpu
export XDG_CACHE_HOME="$work/cache"

# Megabytes of the GPU that a process of this program holds, at most.
watch_gpu() {
  most=0
  while [ ! -e "$work/ended" ]; do
    now=$(nvidia-smi --query-compute-apps=name,used_memory --format=csv,noheader,nounits 2>/dev/null |
      awk -F ', ' '/plimsoll/ { if ($2 > most) most = $2 } END { print most + 0 }')
    [ "$now" -le "$most" ] || most=$now
    echo "$most" >"$work/gpu_mb"
    sleep 0.2
  done
}

value() { sed -n "s/^ *\"$1\": \\([0-9.e+-]*\\),*\$/\\1/p" "$work/run/results.json" | head -n 1; }

# row WORK TARGET GRAPH GPU-MEMORY MEMORY OPTIONS...: memory in GiB at full size; - for all there is.
row() {
  name=$1 target=$2 graph=$3 gpu=$4 host=$5
  shift 5
  limits=""
  [ "$gpu" = - ] || limits="--gpu-memory $(awk "BEGIN { printf \"%.0f\", ($gpu - 1.2) * $scale * 1024 + 1.2 * 1024 }")M"
  [ "$host" = - ] || limits="$limits --memory $(awk "BEGIN { printf \"%.0f\", ($host - 2) * $scale * 1024 + 2 * 1024 }")M"
  rm -rf "$work/run" "$work/ended"
  watch_gpu &
  watching=$!
  # shellcheck disable=SC2086  # a list of words
  "$plimsoll" train "$graph" --device cuda $limits "$@" --epochs "$epochs" --log-steps 1000 --save-dir "$work/run" --quiet >"$work/log" 2>&1 ||
    { tail -n 4 "$work/log" >&2; touch "$work/ended"; wait $watching; return 0; }
  touch "$work/ended"
  wait $watching
  planned_mb=$(value planned_gpu_bytes | awk '{ printf "%.0f", $1 / 1048576 }')
  awk "BEGIN {
    n = $(value batch_size); batches = int((int(1207179 * $scale) + n - 1) / n)
    printf \"| %s | %s GiB, %s GiB | %s | %.2f s | %.2f s | %.2f ms | %.1f GiB | %.1f GiB | %.1f GiB | %.1f GiB |\\n\", \"$name\", \"$gpu\", \"$host\", \"$target\",
      batches / $(value batches_per_second) / $scale, $(value planned_epoch_seconds) / $scale, 1000 / $(value batches_per_second),
      $(cat "$work/gpu_mb") / 1024, ${planned_mb:-0} / 1024, $(value peak_memory_bytes) / 2^30, $(value planned_memory_bytes) / 2^30 }"
}

rows() {
  echo "| work | GPU memory, RAM | target | an epoch | planned | a batch | GPU memory | planned | RAM | planned |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
  if [ $directed = yes ]; then
    graph=$work/directed.plim
    "$plimsoll" synth papers100M --scale "$scale" --directed --seed 1 --out "$graph" --quiet >&2
    row "gcn 128, [3,2], 16" "2 s" "$graph" - - --model gcn --fanout 3,2 --hidden 16 --batch-size 128
    row "gcn 1024, [15,10], 256" "0.5 s" "$graph" - - --model gcn --fanout 15,10 --hidden 256 --batch-size 1024
    row "sage 8000, [25,10], 256" "0.4 s" "$graph" - - --model sage --fanout 25,10 --hidden 256 --batch-size 8000
    row "gat 1024, [15,10], 256" "" "$graph" - - --model gat --fanout 15,10 --hidden 256 --batch-size 1024
    row "gcn 1024, [15,10], 256" "1.5 s" "$graph" 22 32 --model gcn --fanout 15,10 --hidden 256 --batch-size 1024
    row "gcn 1024, [15,10], 256" "3 s" "$graph" 22 16 --model gcn --fanout 15,10 --hidden 256 --batch-size 1024
    rm -rf "$graph"
  fi
  if [ $undirected = yes ]; then
    graph=$work/undirected.plim
    "$plimsoll" synth papers100M --scale "$scale" --undirected --seed 1 --out "$graph" --quiet >&2
    row "sage 1024, [10,10,10], 256, undirected" "3 s" "$graph" - - --model sage --fanout 10,10,10 --hidden 256 --batch-size 1024
    row "the same" "8 s" "$graph" 22 32 --model sage --fanout 10,10,10 --hidden 256 --batch-size 1024
    row "the same" "25 s" "$graph" 22 16 --model sage --fanout 10,10,10 --hidden 256 --batch-size 1024
    row "the same, --tf32" "" "$graph" - - --model sage --fanout 10,10,10 --hidden 256 --batch-size 1024 --tf32
  fi
}

rows | tee "$work/table"
[ $print = no ] || exit 0
# Between the marks of the page.
awk -v table="$work/table" '/<!-- gpu.sh -->/ { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
  /<!-- end of gpu.sh -->/ { skip = 0 } !skip' "$page" >"$work/page" && cp "$work/page" "$page"
