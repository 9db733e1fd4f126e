#!/bin/sh
# PID namespaces, as containers have them: a run of another namespace is neither judged nor ended nor
# forgotten; exec works as the first process of one, and waits for everybody's children there; and it works
# where /proc shows another namespace.
. "$(dirname "$0")/exec_lib.sh"
unshare --pid --fork --mount-proc true 2>/dev/null || skip "no PID namespaces here"
fake=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so

wait_until_alive() {
  tries=0
  until [ -n "$(alive)" ] || [ $tries -ge 200 ]; do sleep 0.05; tries=$((tries + 1)); done
  [ -n "$(alive)" ] || fail "the command did not start"
}

# From inside: the supervisor cannot be seen, and lives.
"$PLIMSOLL" exec -- sleep 50 >exec_output 2>&1 &
pid=$!
wait_until_alive
run unshare --pid --fork --mount-proc "$PLIMSOLL" orphans
expect 0 "no processes are left over from earlier runs in this PID namespace" "in another PID namespace" "sleep 50"
run unshare --pid --fork --mount-proc "$PLIMSOLL" orphans --kill --grace 0.1s
expect 0 "ended 0 processes" "in another PID namespace"
run unshare --pid --fork --mount-proc "$PLIMSOLL" orphans --json
expect 0 '"elsewhere": [' '"sleep 50"'
[ -n "$(alive)" ] || fail "a supervised run was ended from inside a namespace"
[ -n "$(ls state/plimsoll/runs)" ] || fail "a live run's record was removed from inside a namespace"
kill -TERM $pid
wait $pid || true

# From outside: its processes can be seen, its supervisor has another pid here.
unshare --pid --fork --mount-proc sh -c ': ; "$0" exec -- sleep 51; echo "code $?" >code' "$PLIMSOLL" >exec_output 2>&1 &
pid=$!
wait_until_alive
run plimsoll orphans
expect 0 "in another PID namespace" "sleep 51"
run plimsoll orphans --kill --grace 0.1s
expect 0 "ended 0 processes" "in another PID namespace"
[ -n "$(ls state/plimsoll/runs)" ] || fail "a live run's record was removed from outside its namespace"
if [ -f "$fake" ]; then
  # The gate sees it on a GPU: not a leftover, so that it waits and names it.
  printf 'driver 550.1\ngpu GPU-a 81920 81000\nprocess 0 %s 80000\n' "$(alive | head -n 1)" >nvml
  run env PLIMSOLL_NVML="$fake" FAKE_NVML_STATE="$PWD/nvml" "$PLIMSOLL" exec --gpu 0 --gpu-free 40G --gpu-wait 0.2s -- true
  expect 125 "sleep 51"
fi
[ -n "$(alive)" ] || fail "a supervised run was ended from outside its namespace"
for process in $(alive); do
  kill -TERM "$process"
done
wait $pid || true
grep -q "code 143" code || fail "the run inside the namespace ended with $(cat code)"
nothing_alive "after the namespace's end"

# As the first process: whoever loses its parent becomes its child, also those that do not belong to the run.
cat >inside.sh <<'SCRIPT'
(sleep 0.1 &)                # begun before the run
sh -c '(sleep 0.3 &)' &
exec "$1" exec -- sh -c '
  (sleep 0.2 & sleep 0.2 &)
  sleep 2.5
  cat /proc/[0-9]*/stat 2>/dev/null | grep ") Z " >zombies
  exit 5'
SCRIPT
for mount in --mount-proc --mount; do
  run unshare --pid --fork $mount sh inside.sh "$PLIMSOLL"
  expect 5
  [ $mount = --mount ] || [ ! -s zombies ] || fail "zombies stay: $(cat zombies)"
  nothing_alive "as the first process ($mount)"
done

# With the /proc of another namespace pids in there are not ours: everything still holds.
for level in $(levels); do
  run unshare --pid --fork "$PLIMSOLL" exec --level "$level" --grace 0.2s --timeout 0.5s -- unruly family
  expect 124
  nothing_alive "$level, /proc of another namespace"
  run unshare --pid --fork "$PLIMSOLL" exec --level "$level" --grace 0.2s -- unruly stubborn
  expect 7
  nothing_alive "$level, /proc of another namespace, stubborn"
done
run unshare --pid --fork "$PLIMSOLL" orphans
expect 0 "no processes are left over"
# Without the rights to open one's own, nothing is promised.
if command -v setpriv >/dev/null && [ "$(id -u)" = 0 ]; then
  chmod 755 "$WORK" programs
  cp "$PLIMSOLL" programs/plimsoll
  run unshare --pid --fork setpriv --reuid 65534 --regid 65534 --clear-groups programs/plimsoll exec -- true
  expect 125 "/proc shows another PID namespace" "mount -t proc"
  run unshare --pid --fork setpriv --reuid 65534 --regid 65534 --clear-groups programs/plimsoll orphans --kill
  expect 125 "/proc shows another PID namespace"
fi
