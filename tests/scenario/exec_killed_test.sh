#!/bin/sh
# plimsoll killed with -9 at any moment leaves nothing: no process, no control group, no record. So does its
# keeper killed with -9. Both at once leave what `orphans` finds and ends, and a namespace of pids leaves
# nothing even then. PLIMSOLL_KILLS: how often at each level (8).
. "$(dirname "$0")/exec_lib.sh"
kills=${PLIMSOLL_KILLS:-8}

keeper_of() {
  for child in $(cat /proc/"$1"/task/"$1"/children); do
    case $(cat /proc/"$child"/comm) in run-keeper) echo "$child" ;; esac
  done
}

start() {
  "$PLIMSOLL" exec --level "$level" --grace 0.1s --log run.log -- unruly family >/dev/null 2>&1 &
  pid=$!
}

# Until the command has started its children.
wait_for_family() {
  tries=0
  while [ "$(alive | wc -w)" -lt 3 ] && [ $tries -lt 1500 ]; do
    sleep 0.02
    tries=$((tries + 1))
  done
  [ $tries -lt 1500 ] || fail "the command did not start"
}

nothing_left() {
  nothing_alive "$1" 50
  tries=0
  while [ -n "$(own_groups "$pid")$(ls state/plimsoll/runs 2>/dev/null)" ] && [ $tries -lt 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  [ -z "$(own_groups "$pid")" ] || fail "$1: control groups are left: $(own_groups "$pid")"
  [ -z "$(ls state/plimsoll/runs 2>/dev/null)" ] || fail "$1: records are left: $(ls state/plimsoll/runs)"
}

fake=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
for level in $(levels); do
  for i in $(seq "$kills"); do
    start
    # From before the keeper's birth to after the command's children are there.
    sleep "$(awk -v i="$i" -v n="$kills" 'BEGIN { printf "%.4f", 0.06 * i / n }')"
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    nothing_left "$level, plimsoll killed ($i)"
  done

  start
  wait_for_family
  kill -KILL "$(keeper_of $pid)"
  code=0
  wait $pid || code=$?
  nothing_alive "$level, keeper killed"
  [ -z "$(own_groups $pid)" ] || fail "$level, keeper killed: control groups are left"

  start
  wait_for_family
  kill -KILL $pid "$(keeper_of $pid)"
  wait $pid 2>/dev/null || true
  if [ "$level" = pidns ]; then
    nothing_alive "$level, both killed" 20
  else
    sleep 0.1
    run plimsoll orphans
    expect 0 "unruly family"
    if [ -f "$fake" ]; then
      orphan=$("$PLIMSOLL" orphans --json | sed -n 's/^ *"pid": \([0-9]*\),$/\1/p' | head -n 1)
      printf 'driver 550.1\ngpu GPU-a 81920 20480\nprocess 0 %s 10240\n' "$orphan" >nvml
      run env PLIMSOLL_NVML="$fake" FAKE_NVML_STATE="$PWD/nvml" "$PLIMSOLL" orphans
      expect 0 "10.0 GiB"
    fi
  fi
  run plimsoll orphans --kill --grace 0.2s
  expect 0 ended
  nothing_alive "$level, orphans ended"
  nothing_left "$level, orphans ended"
  run plimsoll orphans
  expect 0 "no processes are left over"
  echo "level $level: $kills kills of plimsoll, one of its keeper, one of both"
done
