#!/bin/sh
# A user without root and without a control group of its own: what is left of the levels holds, and what is
# not is refused with a reason.
. "$(dirname "$0")/exec_lib.sh"
[ "$(id -u)" = 0 ] || skip "only root can become another user"
command -v setpriv >/dev/null || skip "no setpriv"
chmod 755 "$WORK"
mkdir -m 777 folder
cp "$PLIMSOLL" programs/plimsoll
chmod 755 programs programs/*
as_nobody() {
  setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$WORK/folder" XDG_STATE_HOME="$WORK/folder/state" "$@"
}
as_nobody true 2>/dev/null || skip "cannot become another user here"
as_nobody programs/plimsoll exec -- true || skip "the other user cannot run the program"

run as_nobody programs/plimsoll exec --level cgroup2 -- true
expect 125 "level cgroup2 does not work here"
for level in sweep pidns; do
  if ! as_nobody programs/plimsoll exec --level $level -- true 2>output; then
    echo "level $level does not work here for this user: $(cat output)"
    continue
  fi
  for deed in stubborn retitled "storm 100"; do
    # shellcheck disable=SC2086
    run as_nobody timeout 30 programs/plimsoll exec --level $level --grace 0.2s -- unruly $deed
    expect 7
    nothing_alive "$level, $deed"
  done
  run as_nobody programs/plimsoll exec --level $level -- sh -c 'id -u; exit 4'
  expect 4 65534
  echo "level $level: nothing survives, without root"
done
run as_nobody timeout 30 programs/plimsoll exec --memory 64M --grace 0.2s -- unruly eat-below 150
expect 122
nothing_alive "watched memory, without root"
