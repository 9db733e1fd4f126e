#!/bin/sh
# Ranks of one host share the resident part of the store: in a cgroup whose limit the kernel enforces they
# stay below it together, need no more than the plan said, and learn what one process with everything in
# memory learns.
. "$(dirname "$0")/lib.sh"
. "$TESTS/scenario/limit.sh"
needs_training
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to compare results with"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT SLURM_PROCID SLURM_STEP_ID
make_cgroup ranks

plimsoll synth papers100M --scale 0.002 --seed 1 --out a.plim --quiet
store=$(du -sb a.plim | cut -f 1)
options="--model gcn --hidden 64 --batch-size 512 --fanout 10,5 --threads 1"
run timeout 200 "$PLIMSOLL" train a.plim $options --epochs 2 --save-dir whole --quiet
expect 0 "Epoch 002"

cat >compare.py <<'PYTHON'
import json, sys
one, other = (json.load(open(path + "/results.json")) for path in sys.argv[1:])
for a, b in zip(one["series"], other["series"]):
    assert abs(a["loss"] - b["loss"]) <= 1e-6 * abs(a["loss"]), (a, b)
    assert (a["valid_acc"], a["test_acc"]) == (b["valid_acc"], b["test_acc"]), (a, b)
shared = {rank["shared_bytes"] for rank in other["ranks"]}
assert len(shared) == 1, shared
print("%d MiB shared by %d ranks" % (shared.pop() >> 20, len(other["ranks"])))
PYTHON

# cgroup_peak: the most that the cgroup held; empty where the kernel does not say.
cgroup_peak() { cat "$cgroup/memory.max_usage_in_bytes" "$cgroup/memory.peak" 2>/dev/null || true; }

least=$(minimum a.plim $options --ranks 3)
[ "$least" -gt $((2 * $(minimum a.plim $options))) ] || fail "three runtimes do not fit $least bytes"
for limit in $((least + 2 * store)) $((least + store / 2)) "$least"; do
  [ ! -e "$cgroup/memory.max_usage_in_bytes" ] || echo 0 >"$cgroup/memory.max_usage_in_bytes"
  run inside "$limit" "$PLIMSOLL" train a.plim $options --epochs 2 --memory "$limit" --ranks 3 --save-dir ranks --quiet --force
  expect 0 "Epoch 002"
  [ "$(kills)" -eq 0 ] || fail "the kernel killed a process"
  planned=$(field planned_memory_bytes ranks/results.json)
  peak=$(cgroup_peak)
  echo "limit $((limit / mib)) MiB: planned $((planned / mib)) MiB, the cgroup's peak ${peak:-unknown} bytes"
  [ -z "$peak" ] || [ $((peak * 20)) -le $((planned * 21)) ] || fail "planned $planned bytes, the cgroup held $peak"
  run /usr/bin/python3 compare.py whole ranks
  [ "$code" -eq 0 ] || fail "three ranks learned something else under $limit bytes"
  cat output
done
run inside "$least" "$PLIMSOLL" train a.plim $options --memory $((least - 4 * mib)) --ranks 3 --save-dir refused --quiet
expect 4 "at least"
