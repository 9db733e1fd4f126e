#!/bin/sh
# bench/orders.sh [--folder DIR] [--scale X] [--memory SIZE] [--epochs N]: what an epoch reads from disk by
# the order of the nodes (visits, degree, original) and by policy (the line alone; the line and windows of
# batches), as a Markdown table, beside the random reads a second that the disk under the store gives.
# Training options are those of the second row of bench/papers100m.sh unless BENCH_TRAIN holds others.
. "$(dirname "$0")/lib.sh"
folder=.
scale=0.0625
memory=1G
epochs=1
take_options "folder scale memory epochs" "$@"
no_words
needs_built "$plimsoll" build
work_in "$folder" orders
options=${BENCH_TRAIN:---batch-size 128 --fanout 3,2 --hidden 16 --model gcn}

# Figures of results.json; the disk's are two deep.
value() { sed -n "s/^ *\"$1\": \\([0-9.e+-]*\\),*\$/\\1/p" "$work/run/results.json" | head -n 1; }

# row ORDER POLICY OPTIONS...
row() {
  order=$1 policy=$2
  shift 2
  rm -rf "$work/run"
  # shellcheck disable=SC2086
  "$plimsoll" train "$work/$order.plim" --device cpu --memory "$memory" --save-dir "$work/run" --quiet --epochs "$epochs" --log-steps 1000 \
    $options "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  rate=$(sed -n 's/.*"reads_per_second": \([0-9.e+]*\),*/\1/p' "$work/cache/plimsoll/machine.json" | head -n 1)
  awk "BEGIN { reads = $(value reads); rows = $(value rows); seconds = $(value training_time)
    printf \"| %s | %s | %.0f | %.1f | %.1f %% | %.1f | %.0f | %.0f %% |\\n\", \"$order\", \"$policy\", reads / 1000, $(value bytes) / 1e6,
      100 * $(value rows_on_disk) / rows, seconds, reads / seconds, 100 * reads / seconds / $rate }"
}

XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
for order in visits degree original; do
  "$plimsoll" synth papers100M --scale "$scale" --directed --seed 1 --order "$order" --out "$work/$order.plim" --quiet
  if [ $order = visits ]; then
    # shellcheck disable=SC2086
    "$plimsoll" plan "$work/$order.plim" --device cpu --memory "$memory" $options --calibrate >/dev/null
    printf '\nScale %s, --memory %s, %s epochs with one evaluation, %s; the disk gives %.0f reads/s.\n\n' "$scale" "$memory" "$epochs" "$options" \
      "$(sed -n 's/.*"reads_per_second": \([0-9.e+]*\),*/\1/p' "$work/cache/plimsoll/machine.json" | head -n 1)"
    printf '| order | policy | thousand reads | MB read | rows not in memory | seconds | reads/s | of the disk |\n|---|---|---|---|---|---|---|---|\n'
  fi
  row $order "line" --window 1
  row $order "line + windows"
  rm -rf "$work/$order.plim"
done
