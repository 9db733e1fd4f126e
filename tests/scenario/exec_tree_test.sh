#!/bin/sh
# When exec returns nothing of the command is alive, whatever its processes did to stay, at every level that
# this machine offers; and the command's exit code is its own.
. "$(dirname "$0")/exec_lib.sh"

# deed CODE DEED [NUMBER]: must return that code, in seconds, and leave nothing.
deed() {
  expected=$1
  shift
  run timeout 30 "$PLIMSOLL" exec --level "$level" --grace 0.2s --timeout 20s -- unruly "$@"
  expect "$expected"
  nothing_alive "$level, $1"
}

for level in $(levels); do
  deed 7 setsid
  deed 7 daemon
  deed 7 stubborn
  deed 7 retitled
  deed 7 stopped
  deed 7 storm 500
  deed 7 flee 2000
  deed 7 zombies 20

  # One that stops itself is ended by its timeout all the same.
  run timeout 30 "$PLIMSOLL" exec --level "$level" --timeout 0.3s --grace 0.2s -- unruly stop-itself
  expect 124
  nothing_alive "$level, stopped itself"

  # A grandchild that keeps the output open does not keep a reader waiting.
  run timeout 10 sh -c '"$0" exec --level "$1" --grace 0.2s -- unruly hold-output | cat' "$PLIMSOLL" "$level"
  expect 0 held
  nothing_alive "$level, held output"
  echo "level $level: nothing survives"
done
# Waiting for what does not listen takes no CPU.
used=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int((usage.ru_utime + usage.ru_stime) * 1000))' "$PLIMSOLL" exec --grace 1.5s -- sh -c 'unruly stay & sleep 0.2')
[ "$used" -lt 500 ] || fail "$used ms of CPU while it waited 1500 ms"
[ ! -d state/plimsoll/runs ] || [ -z "$(ls state/plimsoll/runs)" ] || fail "records are left: $(ls state/plimsoll/runs)"
