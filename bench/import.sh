#!/bin/sh
# bench/import.sh [--scale S] [--ogb-scale S] [--folder DIR]: synth and import at a share of papers100M, as a
# table of throughput against the disk's own speed measured in the same run. Needs free disk: 40 GB x S for
# synth, 130 GB x S for import (whose input it generates first).
. "$(dirname "$0")/lib.sh"
scale=0.1
ogb_scale=0.1
folder=.
memory_synth=4G
memory_import=8G
threads=$(nproc)
take_options "scale ogb-scale folder" "$@"
no_words
needs_built "$plimsoll" build
work_in "$folder" bench

# Sequential O_DIRECT, 1 MiB at a time, 4 GiB: what one stream gets from this disk.
rate() {
  sed -n 's/.*copied, \([0-9.e-]*\) s.*/\1/p' | awk '{printf "%.0f", 4294967296 / $1 / 1e6}'
}
write_rate=$(LC_ALL=C dd if=/dev/zero of="$work/disk" bs=1M count=4096 oflag=direct 2>&1 | rate)
read_rate=$(LC_ALL=C dd if="$work/disk" of=/dev/null bs=1M iflag=direct 2>&1 | rate)
rm "$work/disk"

# row TITLE MEMORY JSON: one line of the table, from the command's own summary.
field() {
  sed -n "s/^ *\"$2\": \([0-9.]*\),*$/\1/p" "$1"
}
row() {
  awk -v title="$1" -v limit="$2" -v bytes="$(field "$3" bytes)" -v seconds="$(field "$3" seconds)" \
    -v edges="$(field "$3" edges)" -v peak="$(field "$3" peak_memory_bytes)" -v disk="$write_rate" 'BEGIN {
      mb = bytes / seconds / 1e6
      printf "| %s | %s | %.1f | %.0f | %.0f | %.1f | %.0f %% | %.2f |\n", title, limit, bytes / 1e9, seconds, mb,
        edges / seconds / 1e6, 100 * mb / disk, peak / 1073741824
    }'
}

echo "machine: $(nproc) cores, disk writes $write_rate MB/s, reads $read_rate MB/s (one stream, O_DIRECT)"
"$plimsoll" synth papers100M --scale "$scale" --seed 1 --directed --memory $memory_synth --threads "$threads" \
  --out "$work/directed.plim" --json >"$work/directed.json"
rm -r "$work/directed.plim"
"$plimsoll" synth papers100M --scale "$scale" --seed 1 --memory $memory_synth --threads "$threads" \
  --out "$work/undirected.plim" --json >"$work/undirected.json"
rm -r "$work/undirected.plim"
"$plimsoll" synth papers100M --scale "$ogb_scale" --seed 1 --format ogb --out "$work/raw" --memory 2G --quiet
"$plimsoll" import ogb "$work/raw" --undirected --memory $memory_import --threads "$threads" \
  --out "$work/imported.plim" --json >"$work/import.json"

echo "| work | limit | GB written | seconds | MB/s of store | M edges/s | of the disk's write speed | peak GiB |"
echo "|---|---|---|---|---|---|---|---|"
row "synth papers100M x $scale, directed" $memory_synth "$work/directed.json"
row "synth papers100M x $scale, undirected" $memory_synth "$work/undirected.json"
row "import ogb x $ogb_scale, undirected, deflated" $memory_import "$work/import.json"
