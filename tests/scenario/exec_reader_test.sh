#!/bin/sh
# Nobody reads what plimsoll writes, or its streams are closed: the command is supervised to its end all the
# same, the verdict is written down, and plimsoll returns.
. "$(dirname "$0")/exec_lib.sh"

# A pipe that is held open by a process that never reads.
mkfifo unread
sleep 60 <unread &
exec 8>unread

# returns CODE ARGUMENTS...: exec ends with that code, its streams going where nobody reads.
returns() {
  wanted=$1
  shift
  rm -f result.json
  code=0
  timeout 60 "$PLIMSOLL" exec --grace 0.2s --result result.json "$@" >&8 2>&8 || code=$?
  : >output
  [ "$code" = "$wanted" ] || fail "exit code $code, $wanted expected: $*"
  grep -q '"verdict"' result.json || fail "no verdict: $*"
}
returns 7 --log flood.log -- unruly flood 2
[ "$(wc -c <flood.log)" -eq 2097152 ] || fail "the log has $(wc -c <flood.log) bytes"
returns 7 --log flood.log -- unruly flood 1 # the pipe is full from the start
returns 3 -- sh -c 'exit 3'
# Without a log the command writes into the pipe itself, and waits there until it is ended.
returns 124 --timeout 0.5s -- unruly flood 1
returns 121 --idle-timeout 0.5s -- unruly flood 1
# Only the display waits for the reader. One that reads late misses nothing.
"$PLIMSOLL" exec --log late.log -- unruly flood 2 2>/dev/null | (
  sleep 1
  cat >late
)
cmp -s late late.log || fail "a late reader missed something"

mkfifo log_pipe
run timeout 60 "$PLIMSOLL" exec --log log_pipe -- touch ran
expect 125 "log_pipe is not a regular file"
[ ! -e ran ] || fail "the command ran without its log"
mkfifo result_pipe
run timeout 60 "$PLIMSOLL" exec --result result_pipe -- sh -c 'exit 4'
expect 4 "cannot write the result to result_pipe"

# Closed streams: the command's output is not lost, and goes into no file of plimsoll's.
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
  rm -f ran closed.log result.json
  run sh -c "\"\$0\" exec --log closed.log --result result.json -- sh -c 'echo one; echo two >&2; echo ran >ran; exit 6' $closed" \
    "$PLIMSOLL"
  expect 6
  [ "$(cat closed.log)" = "$(printf 'one\ntwo')" ] || fail "$closed: the log has $(cat closed.log)"
  [ "$(cat ran)" = ran ] || fail "$closed: the command did not run"
  grep -q '"exit_code": 6' result.json || fail "$closed: no result"
  rm -f ran
  run sh -c "\"\$0\" exec -- sh -c 'echo ran >ran; cat; exit 6' $closed" "$PLIMSOLL"
  [ "$(cat ran)" = ran ] && [ "$code" = 6 ] || fail "$closed: exit code $code"
  run sh -c "\"\$0\" orphans $closed" "$PLIMSOLL"
  expect 0
  run sh -c "\"\$0\" explain 137 $closed" "$PLIMSOLL"
  expect 0
done
[ -z "$(ls state/plimsoll/runs)" ] || fail "records are left"
