#!/bin/sh
# bench/ranks.sh [--scale S] [--folder DIR] [--threads T] [--ranks "1 2 4 8"]: how training scales over ranks
# on this machine. Trains a gcn ([15,10], batch 1024, hidden 256) on synthetic papers100M, everything
# resident, and prints for each number of ranks: batches/s, the efficiency against one rank, and what binds.
# Needs 40 GB x S of disk, and ranks x T cores.
. "$(dirname "$0")/lib.sh"
scale=0.0625
folder=.
threads=2
all_ranks="1 2 4 8"
take_options "scale folder threads ranks:all_ranks" "$@"
no_words
needs_built "$plimsoll" program
work_in "$folder" bench
"$plimsoll" synth papers100M --scale "$scale" --out "$work/papers.plim" --quiet >/dev/null
echo "papers100M x $scale, [15,10], batch 1024, hidden 256; $threads threads a rank, $(nproc) cores"
for ranks in $all_ranks; do
  if [ $((ranks * threads)) -gt "$(nproc)" ]; then
    echo "$ranks ranks x $threads threads do not fit $(nproc) cores: left out"
    continue
  fi
  "$plimsoll" train "$work/papers.plim" --model gcn --device cpu --batch-size 1024 --fanout 15,10 --hidden 256 \
    --epochs 3 --log-steps 3 --threads "$threads" --ranks "$ranks" --quiet --save-dir "$work/$ranks" \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
done
python3 - "$work" $all_ranks <<'PYTHON'
import json, os, sys
work, numbers = sys.argv[1], sys.argv[2:]
print("| ranks | batches/s | efficiency | training thread: computing, adding up, waiting for batches (ms) | peak GiB, shared once | what binds |")
print("|---|---|---|---|---|---|")
first = None
for ranks in numbers:
    path = os.path.join(work, ranks, "results.json")
    if not os.path.exists(path):
        continue
    with open(path) as file:
        results = json.load(file)
    rate, stages = results["batches_per_second"], results["stage_milliseconds"]
    first = first or (int(ranks), rate)
    computing = stages["forward"] + stages["backward"] + stages["step"]
    figures = results["ranks"]
    adding = max((rank["adding_up_milliseconds"] for rank in figures), default=0)
    peak = results["peak_memory_bytes"]
    if figures:
        peak = figures[0]["shared_bytes"] + sum(rank["peak_memory_bytes"] - rank["shared_bytes"] for rank in figures)
    parts = {"computing": computing, "adding up and the slowest rank": adding, "making batches": stages["waiting"]}
    print("| %s | %.1f | %.0f %% | %.2f, %.2f, %.2f | %.2f | %s |" % (
        ranks, rate, 100 * rate * first[0] / (first[1] * int(ranks)), computing, adding, stages["waiting"],
        peak / 2**30, max(parts, key=parts.get)))
PYTHON
