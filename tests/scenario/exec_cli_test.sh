#!/bin/sh
# exec is transparent: exit codes, standard input, streams, arguments and signals are as if the command had
# run bare; the log is complete; 100 runs in a row leave nothing (PLIMSOLL_RUNS for another number).
. "$(dirname "$0")/exec_lib.sh"
# What other runs on this machine have left is not ours.
find /sys/fs/cgroup -maxdepth 6 -type d -name 'plimsoll-*-*-*-*' >groups_before 2>/dev/null || true
runs=${PLIMSOLL_RUNS:-100}

for code_wanted in 0 1 2 42 255; do
  run plimsoll exec -- sh -c "exit $code_wanted"
  expect "$code_wanted"
done
run plimsoll exec -- sh -c 'kill -SEGV $$'
expect 139
run plimsoll exec -- no-such-program
expect 127
run plimsoll exec -- /etc/passwd
expect 126
run plimsoll exec
expect 2 "after --"
run plimsoll exec sleep 1
expect 2 "-- sleep"
run plimsoll exec --timeout soon -- true
expect 2 "'soon' is not a duration"
run plimsoll exec --log /nowhere/run.log -- true
expect 125 "/nowhere/run.log"

# Every word arrives as it is, those that a parser might take for its own as well.
run plimsoll exec -- printf '<%s>' --memory -- '[a,b]' '' 'two words' --help
expect 0 '<--memory><--><[a,b]><><two words><--help>'
printf 'line one\nline two\n' >input
run sh -c '"$0" exec -- cat <input' "$PLIMSOLL"
expect 0 "line two"
run sh -c '"$0" exec -- sh -c "echo out; echo err >&2" 2>/dev/null' "$PLIMSOLL"
expect 0 out
! grep -q err output || fail "errors went to standard output"
run sh -c '"$0" exec -- env >variables; grep PLIMSOLL_RUN variables' "$PLIMSOLL"
expect 0 PLIMSOLL_RUN=
run sh -c 'exec 7<input; "$0" exec -- sh -c "cat <&7"' "$PLIMSOLL"
expect 0 "line one"

# Signals: one that asks for the end reaches the whole tree; others go to the command.
signalled() {
  rm -f ready
  # A script's background ignores SIGINT, and so would the command.
  env --default-signal=INT "$PLIMSOLL" exec --grace 0.3s -- sh -c "$2" >output 2>&1 &
  pid=$!
  tries=0
  until [ -e ready ] || [ $tries -ge 600 ]; do sleep 0.05; tries=$((tries + 1)); done
  kill -"$1" $pid
  code=0
  wait $pid || code=$?
  nothing_alive "SIG$1"
}
signalled TERM ': >ready; sleep 40'
expect 143
signalled TERM 'trap "exit 9" TERM; : >ready; while :; do sleep 0.02; done'
expect 9
signalled TERM 'trap "" TERM; : >ready; exec unruly stay'
expect 137
signalled USR1 'trap "echo noticed; exit 3" USR1; : >ready; while :; do sleep 0.02; done'
expect 3 noticed
signalled INT 'trap "exit 4" INT; : >ready; while :; do sleep 0.02; done'
expect 4
signalled HUP ': >ready; sleep 40'
expect 129

# The log: whole, in order, shown as well; a reader that goes away harms nobody.
run plimsoll exec --quiet --log flood.log -- unruly flood 20
expect 7
[ "$(wc -c <flood.log)" -eq 20971520 ] || fail "the log has $(wc -c <flood.log) bytes"
cmp -s flood.log output || fail "what was shown is not what was logged"
run sh -c '"$0" exec --log flood.log -- unruly flood 200 | head -c 1000 | wc -c' "$PLIMSOLL"
expect 0 1000
[ "$(wc -c <flood.log)" -eq $((11 * 20971520)) ] || fail "the log has $(wc -c <flood.log) bytes after appending"
rm flood.log
# Killed in the middle, the log has all that the command had written by then.
"$PLIMSOLL" exec --grace 20s --log killed.log -- \
  sh -c 'trap "" TERM; i=0; while [ $i -lt 100 ]; do i=$((i + 1)); echo $i; sleep 0.01; done' >/dev/null &
pid=$!
sleep 0.5
kill -KILL $pid
wait $pid 2>/dev/null || true
tries=0
while [ "$(tail -n 1 killed.log)" != 100 ] && [ $tries -lt 1500 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
[ "$(wc -l <killed.log)" = 100 ] || fail "the log ends with $(tail -n 1 killed.log)"

# The verdict: in words, as JSON, and for later.
run plimsoll exec --result result.json -- sh -c 'echo "ModuleNotFoundError: No module named torch" >&2; exit 1'
expect 1 "✗"
grep -q '"exit_code": 1' result.json || fail "no exit code in $(cat result.json)"
grep -q '"level": "' result.json || fail "no level in $(cat result.json)"
run plimsoll explain --last
expect 0 "exit 1"
run plimsoll exec --result result.json -- true
expect 0
[ ! -s output ] || fail "a good end is not quiet"
grep -q '"cause": "success"' result.json || fail "no verdict in $(cat result.json)"
# Refused: the result and explain --last say that it was not started, and why.
mkdir folder
run plimsoll exec --log folder --result result.json -- touch ran
expect 125 "folder"
grep -q '"cause": "not_supervised"' result.json && grep -q '"exit_code": 125' result.json || fail "no verdict in $(cat result.json)"
[ ! -e ran ] || fail "it was started"
run plimsoll explain --last
expect 0 "touch ran" "not started: " "try: "
if [ ! -e /dev/nvidiactl ]; then
  run plimsoll exec --gpu 0 -- true
  expect 125 NVIDIA
fi

# Hung: says where it is.
run plimsoll exec --idle-timeout 0.5s --grace 0.2s -- sleep 30
expect 121 "plimsoll exec: no output, no CPU and no GPU use for 0.5 s" "sleep 30"

# A result that cannot be written is refused before the command runs.
run plimsoll exec --result . -- touch ran
expect 2 "is a folder"
run plimsoll exec --result nowhere/result.json -- touch ran
expect 6 "the folder nowhere does not exist"
[ ! -e ran ] || fail "the command ran all the same"

mkfifo pipe
ln -s "$WORK/linked.json" link
timeout 20 cat pipe >piped &
plimsoll exec --result pipe -- true
wait $!
plimsoll exec --result link -- true
grep -q '"cause": "success"' piped && grep -q '"cause": "success"' linked.json || fail "no result through a pipe or a link"
[ -p pipe ] && [ -L link ] || fail "a pipe or a link was replaced"

# A signal that is handed on is nobody else's.
"$PLIMSOLL" exec -- sleep 30 >output 2>&1 &
run=$!
tries=0
until [ -n "$(alive)" ] || [ $tries -ge 50 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -USR1 "$run"
code=0
wait "$run" || code=$?
expect 138 "SIGUSR1, which was sent to plimsoll"

# Killed, it leaves no older run's verdict behind.
plimsoll exec -- true
"$PLIMSOLL" exec -- sleep 31 >output 2>&1 &
run=$!
tries=0
until [ -n "$(alive)" ] || [ $tries -ge 50 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -KILL "$run"
wait "$run" || true
nothing_alive "after plimsoll was killed" 50
run plimsoll explain --last
expect 0 "sleep 31" "plimsoll was killed"

# Many in a row.
children=$(cat /proc/$$/task/$$/children | wc -w)
for _ in $(seq "$runs"); do
  "$PLIMSOLL" exec -- true || fail "a run failed"
done
[ "$(cat /proc/$$/task/$$/children | wc -w)" -le "$((children + 1))" ] || fail "processes are left"
nothing_alive "$runs runs"
[ -z "$(ls state/plimsoll/runs)" ] || fail "records are left"
for group in $(find /sys/fs/cgroup -maxdepth 6 -type d -name 'plimsoll-*-*-*-*' 2>/dev/null); do
  ! grep -qxF "$group" groups_before || continue
  owner=$(basename "$group" | cut -d- -f3)
  [ -e "/proc/$owner" ] || fail "the control group $group is left"
done
