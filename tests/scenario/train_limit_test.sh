#!/bin/sh
# Under a memory limit that the kernel enforces and that is far smaller than the store, training, evaluating,
# checkpointing and resuming run to the end, learn bit for bit what a run with everything in memory learns, stay
# below the limit, and need what the plan said within 10 %. Below the plan's minimum they are refused.
. "$(dirname "$0")/lib.sh"
[ -e "$(dirname "$PLIMSOLL")/libplimsoll_train.so" ] || skip "this program was built without libtorch"
export XDG_CACHE_HOME=$PWD/cache

mib=1048576
group=plimsoll-limit-test-$$
v1=/sys/fs/cgroup/memory/$group
v2=/sys/fs/cgroup/$group
if mkdir "$v1" 2>/dev/null; then
  cgroup=$v1 limit_file=memory.limit_in_bytes
elif echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "$v2" 2>/dev/null; then
  cgroup=$v2 limit_file=memory.max
else
  skip "no writable memory cgroup here (needs root, or a delegated one)"
fi
trap 'rmdir "$cgroup"; cleanup' EXIT

# inside MIB COMMAND...: the command under that limit, in a cgroup of its own.
inside() {
  echo $(($1 * mib)) >"$cgroup/$limit_file"
  shift
  timeout 200 sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$@"
}
# field NAME FILE: a number at the top of a results.json.
field() { sed -n "s/^  \"$1\": \\([0-9.e-]*\\),*\$/\\1/p" "$2"; }
losses() { sed -n 's/^ *"\(loss\|valid_acc\|test_acc\)": /\1 /p' "$1"; }
# minimum STORE OPTIONS...: the plan's, in MiB, rounded up.
minimum() {
  "$PLIMSOLL" plan "$@" --json | sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p' |
    awk '{ printf "%d", ($1 + 1048575) / 1048576 }'
}
# check FOLDER MIB WHAT: what a run reports against its limit and its plan.
check() {
  peak=$(field peak_memory_bytes "$1/results.json")
  planned=$(field planned_memory_bytes "$1/results.json")
  unattributed=$(field unattributed_bytes "$1/results.json")
  echo "$3, $2 MiB: planned $((planned / mib)) MiB, peak $((peak / mib)) MiB, unattributed $((unattributed / mib)) MiB"
  [ "$peak" -le $(($2 * mib)) ] || fail "the peak is $peak bytes of $2 MiB"
  [ $((planned * 10)) -le $((peak * 11)) ] && [ $((peak * 10)) -le $((planned * 11)) ] ||
    fail "planned $planned bytes, the peak is $peak"
  [ "$unattributed" -lt $((150 * mib)) ] || fail "$unattributed bytes belong to nobody"
}

plimsoll synth papers100M --scale 0.002 --seed 1 --out a.plim --quiet
store=$(($(du -sb a.plim | cut -f 1) / mib))
for options in "--model gcn"; do
  options="$options --hidden 64 --batch-size 512 --fanout 10,5 --epochs 2"
  run timeout 200 "$PLIMSOLL" train a.plim $options --memory 2G --save-dir whole --quiet --force
  expect 0 "Epoch 002"
  check whole 2048 "everything resident"
  losses whole/results.json >wanted
  least=$(minimum a.plim $options)
  for limit in $((least + store / 2)) $((least + store / 20)) "$least"; do
    run inside "$limit" "$PLIMSOLL" train a.plim $options --memory "${limit}M" --save-dir tight --quiet --force
    expect 0 "Epoch 002"
    check tight "$limit" "${options%% --hidden*}"
    losses tight/results.json >found
    cmp wanted found || fail "other losses or accuracies under $limit MiB"
  done
  run inside "$least" "$PLIMSOLL" train a.plim $options --memory "$((least - 2))M" --save-dir refused --quiet
  expect 4 "at least"
  [ ! -e refused ] || fail "the save folder was made for nothing"
done

# Stopped and resumed at the minimum: the same end.
run inside "$least" "$PLIMSOLL" train a.plim ${options% --epochs 2} --epochs 1 --memory "${least}M" --save-dir half --quiet --force
expect 0 "Epoch 001"
run inside "$least" "$PLIMSOLL" train a.plim --resume half --epochs 2 --memory "${least}M" --quiet
expect 0 "Epoch 002"
losses half/results.json >found
cmp wanted found || fail "another end after resuming"
