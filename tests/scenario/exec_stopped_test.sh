#!/bin/sh
# A keeper that is stopped: plimsoll notices, and the time limit holds. With plimsoll killed as well,
# `orphans` lists the keeper and ends what it kept. When a keeper is killed, its tree is ended and nothing
# else that plimsoll is the parent of.
. "$(dirname "$0")/exec_lib.sh"

keeper_of() {
  for child in $(cat /proc/"$1"/task/"$1"/children); do
    case $(cat /proc/"$child"/comm) in run-keeper) echo "$child" ;; esac
  done
}

# A stopped keeper would outlive a failed test.
keeper=
trap '[ -z "$keeper" ] || kill -CONT "$keeper" 2>/dev/null || true; end_own' EXIT

wait_until_alive() {
  tries=0
  until [ "$(alive | wc -w)" -ge "$1" ] || [ $tries -ge 200 ]; do sleep 0.05; tries=$((tries + 1)); done
  [ "$(alive | wc -w)" -ge "$1" ] || fail "the command did not start"
}

# A keeper that a debugger holds: no signal continues it. It is given up when it is needed, and the tree is
# ended. A command that ends by itself keeps its exit code.
held_exec() { # held_exec NAME OPTION... -- COMMAND: a held keeper; the exit code goes to NAME.code
  name=$1
  shift
  (
    code=0
    "$PLIMSOLL" exec --grace 0.2s "$@" >"$name.output" 2>&1 || code=$?
    echo "$code" >"$name.code"
  ) &
}
if sleep 30 & unruly hold $! >held & sleep 0.3 && grep -q held held; then
  nobody=$(alive)
  for process in $nobody; do kill -KILL "$process" 2>/dev/null || true; done
  for level in $(levels); do
    held_exec "timeout-$level" --level "$level" --timeout 2s -- unruly family
    held_exec "alone-$level" --level "$level" -- sh -c 'sleep 2; exit 6'
  done
  sleep 1
  holders=
  for keeper in $(pgrep -x run-keeper); do
    case $(tr '\0' '\n' 2>/dev/null </proc/"$keeper"/environ) in
    *"XDG_STATE_HOME=$WORK/state"*)
      unruly hold "$keeper" >/dev/null &
      holders="$holders $!"
      ;;
    esac
  done
  keeper=
  for name in timeout:124 alone:6; do
    for level in $(levels); do
      file=${name%:*}-$level
      tries=0
      until [ -f "$file.code" ] || [ $tries -ge 600 ]; do sleep 0.1; tries=$((tries + 1)); done
      [ "$(cat "$file.code")" = "${name#*:}" ] || fail "$file: $(cat "$file.code" "$file.output")"
      grep -q "its keeper process was not answering" "$file.output" || fail "$file: $(cat "$file.output")"
    done
  done
  for process in $holders; do kill -KILL "$process"; done
  wait
  nothing_alive "held keepers"
  echo "a keeper that does not answer: given up, nothing left"
else
  echo "processes may not be traced here: held keepers are not tested"
fi

for level in $(levels | grep -v pidns); do # from inside a namespace a command cannot see its keeper
  run timeout 60 "$PLIMSOLL" exec --level "$level" --timeout 0.5s --grace 0.2s --result result.json -- \
    sh -c 'kill -STOP $PPID; sleep 50'
  expect 124 "its keeper process was stopped"
  nothing_alive "$level, keeper stopped"
  grep -q '"cause": "timed_out"' result.json || fail "no verdict in $(cat result.json)"
  run timeout 60 "$PLIMSOLL" exec --level "$level" --grace 0.2s -- \
    sh -c 'trap "" TERM; setsid sleep 50 & while kill -STOP $PPID; do :; done; wait'
  expect 137 "keeper process was stopped repeatedly"
  nothing_alive "$level, keeper stopped again and again"
  run timeout 60 "$PLIMSOLL" exec --level "$level" -- sh -c 'kill -STOP $PPID; exit 6'
  expect 6

  "$PLIMSOLL" exec --level "$level" --grace 0.2s -- unruly family >exec_output 2>&1 &
  pid=$!
  wait_until_alive 3
  keeper=$(keeper_of $pid)
  kill -STOP "$pid" "$keeper" # in this order: plimsoll would continue its keeper
  kill -KILL "$pid"
  wait $pid 2>/dev/null || true
  tries=0
  until grep -q ') T ' /proc/"$keeper"/stat || [ $tries -ge 50 ]; do sleep 0.05; tries=$((tries + 1)); done
  grep -q ') T ' /proc/"$keeper"/stat || fail "the keeper is not stopped: $(cat /proc/"$keeper"/stat)"
  run plimsoll orphans
  expect 0 "(stopped) run-keeper" "unruly family"
  run plimsoll orphans --json
  expect 0 '"stopped": true'
  run plimsoll orphans --kill --grace 2s
  expect 0 ended
  nothing_alive "$level, orphans with a stopped keeper"
  [ ! -e "/proc/$keeper/exe" ] || fail "$level: the stopped keeper is left"
  keeper=
  [ -z "$(ls state/plimsoll/runs)" ] || fail "$level: records are left"
  [ -z "$(own_groups $pid)" ] || fail "$level: control groups are left"

  # A server that was there before plimsoll, and what it starts, stay.
  cp programs/sleep programs/server
  sh -c 'sh -c "server 40 & server 41 & wait" & exec "$0" exec --level "$1" --grace 0.2s -- unruly family' \
    "$PLIMSOLL" "$level" >output 2>&1 &
  pid=$!
  wait_until_alive 5
  kill -KILL "$(keeper_of $pid)"
  code=0
  wait $pid || code=$?
  grep -q "its keeper process was killed" output || fail "nothing says that the keeper was killed"
  [ "$code" -ge 128 ] || fail "exit code $code after the keeper was killed"
  left=$(for process in $(alive); do cat /proc/"$process"/comm; done | sort | tr '\n' ' ')
  [ "$left" = "server server " ] || fail "$level: of two servers and a tree this is left: $left"
  for process in $(alive); do
    kill -KILL "$process"
  done
  sleep 0.2
  echo "level $level: a stopped keeper, a killed one beside other children"
done
