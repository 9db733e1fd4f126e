#!/bin/sh
# Inside a real memory limit (cgroup v1 or v2) equal to --memory, an import whose files are several times
# that size runs to the end, and what the kernel counted stays below it. The limit is also found without
# the flag, and named.
. "$(dirname "$0")/lib.sh"

limit=$((160 * 1024 * 1024))
group=plimsoll-test-$$
v1=/sys/fs/cgroup/memory/$group
v2=/sys/fs/cgroup/$group
if mkdir "$v1" 2>/dev/null && echo $limit >"$v1/memory.limit_in_bytes" 2>/dev/null; then
  cgroup=$v1 peak=memory.max_usage_in_bytes failures=memory.failcnt version=v1
elif echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "$v2" 2>/dev/null &&
  echo $limit >"$v2/memory.max" 2>/dev/null; then
  cgroup=$v2 peak=memory.peak failures=memory.events version=v2
else
  rmdir "$v1" "$v2" 2>/dev/null || true
  skip "no writable memory cgroup here (needs root, or a delegated one)"
fi
trap 'rmdir "$cgroup"; cleanup' EXIT

# A million nodes: 0.5 GB of features, 0.3 GB of edges as int64; in memory that is over 1 GB.
plimsoll synth papers100M --scale 0.009 --seed 5 --format ogb --stored --out raw --quiet
inside() {
  sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$@"
}
run inside "$PLIMSOLL" import ogb raw --out a.plim --memory 160M --threads 2
expect 0 "wrote a.plim" "of 160.0 MiB"
used=$(cat "$cgroup/$peak")
echo "cgroup $version: peak $((used / 1048576)) MiB of $((limit / 1048576)) MiB; $(tr '\n' ' ' <"$cgroup/$failures")"
[ "$used" -le $limit ] || fail "the cgroup counted $used bytes"

# Without the flag: half of the cgroup's limit is too little for this graph, and the message says whose.
run inside "$PLIMSOLL" import ogb raw --out b.plim
expect 4 "the limit is 80.0 MiB"
run inside "$PLIMSOLL" import ogb raw --out b.plim --memory 10G --threads 2
expect 0 "cgroup $version" "less than --memory 10.0 GiB"
cmp a.plim/neighbors.u32 b.plim/neighbors.u32 || fail "the stores differ"
