# For scenarios about memory limits, after lib.sh: a cgroup, v1 or v2, and what a training reports against its
# limit.
# shellcheck shell=sh
mib=1048576

# make_cgroup NAME: an empty one as $cgroup, with the names of its files; removed at the end of the script.
# Skips the scenario where none can be made.
make_cgroup() {
  v1=/sys/fs/cgroup/memory/plimsoll-$1-$$
  v2=/sys/fs/cgroup/plimsoll-$1-$$
  if mkdir "$v1" 2>/dev/null; then
    cgroup=$v1 limit_file=memory.limit_in_bytes usage_file=memory.usage_in_bytes events_file=memory.oom_control
  elif echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "$v2" 2>/dev/null; then
    cgroup=$v2 limit_file=memory.max usage_file=memory.current events_file=memory.events
  else
    skip "no writable memory cgroup here (needs root, or a delegated one)"
  fi
  trap 'rmdir "$cgroup"; cleanup' EXIT
}

# inside BYTES COMMAND...: the command under that limit, in the cgroup.
inside() {
  echo "$1" >"$cgroup/$limit_file"
  shift
  timeout 600 sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$@"
}

# How many processes the kernel has killed in the cgroup for want of memory.
kills() { sed -n 's/^oom_kill //p' "$cgroup/$events_file"; }

# field NAME FILE: a number at the top of a results.json.
field() { sed -n "s/^  \"$1\": \\([0-9.e-]*\\),*\$/\\1/p" "$2"; }

# losses FILE: what a results.json says was learned.
losses() { sed -n 's/^ *"\(loss\|valid_acc\|test_acc\)": /\1 /p' "$1"; }

# minimum STORE OPTIONS...: the plan's, in bytes, rounded up to what a cgroup can be limited to.
minimum() {
  "$PLIMSOLL" plan "$@" --json 2>/dev/null | sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p' |
    awk '{ printf "%d", int(($1 + 4095) / 4096) * 4096 }'
}

# check FOLDER BYTES WHAT: what a run reports against its limit and its plan.
check() {
  peak=$(field peak_memory_bytes "$1/results.json")
  planned=$(field planned_memory_bytes "$1/results.json")
  unattributed=$(field unattributed_bytes "$1/results.json")
  echo "$3, $(($2 / mib)) MiB: planned $((planned / mib)) MiB, peak $((peak / mib)) MiB, unattributed $((unattributed / mib)) MiB"
  [ "$peak" -le "$2" ] || fail "the peak is $peak bytes of $2"
  [ $((planned * 10)) -le $((peak * 11)) ] && [ $((peak * 10)) -le $((planned * 11)) ] ||
    fail "planned $planned bytes, the peak is $peak"
  [ "$unattributed" -lt $((150 * mib)) ] || [ "$unattributed" -lt $(($2 / 20)) ] ||
    fail "$unattributed bytes belong to nobody"
}
