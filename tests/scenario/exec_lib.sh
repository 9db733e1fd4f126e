# Shared by the scenarios of exec: `. exec_lib.sh "$@"` first, instead of lib.sh. Every program they run is a
# copy in the scenario's own folder, so that what is alive of it can be told from all else on the machine
# without asking plimsoll.
# shellcheck shell=sh
. "$(dirname "$0")/lib.sh"
UNRULY=$(dirname "$PLIMSOLL")/tests/unruly
[ -x "$UNRULY" ] || skip "there is no $UNRULY"
mkdir programs
cp "$UNRULY" programs/unruly
cp "$(command -v sleep)" programs/sleep
export PATH="$WORK/programs:$PATH"
export XDG_STATE_HOME="$WORK/state"

# The pids of all processes that run a program of this scenario.
# (What runs in a mount namespace of its own may be shown below the root of a chroot.)
alive() {
  find /proc -maxdepth 2 -name exe -lname "*$WORK/*" 2>/dev/null | sed 's|/proc/\([0-9]*\)/exe|\1|'
}

end_own() {
  for pid in $(alive); do
    kill -KILL "$pid" 2>/dev/null || true
  done
  cleanup
}
trap end_own EXIT

# nothing_alive WHAT [TENTHS]: fails where something of the scenario still runs. With a number, waits that
# long for three quiet looks in a row: a keeper whose plimsoll was killed may be about to start the command,
# and to end it.
nothing_alive() {
  left=${2:-0}
  quiet=0
  needed=$([ "$left" -gt 0 ] && echo 3 || echo 1)
  while [ $quiet -lt "$needed" ]; do
    seen=$(alive)
    if [ -z "$seen" ]; then
      quiet=$((quiet + 1))
    else
      quiet=0
      [ "$left" -gt 0 ] || fail "$1: alive: $(for pid in $seen; do tr '\0' ' ' </proc/"$pid"/cmdline; echo " ($pid)"; done)"
    fi
    [ $quiet -ge "$needed" ] || sleep 0.1
    left=$((left - 1))
  done
}

groups_named() {
  find /sys/fs/cgroup -maxdepth 6 -type d -name "$1" 2>/dev/null
}
groups_named 'plimsoll-*' >"$WORK/groups_before" || true

# own_groups PID: the control groups that this plimsoll made. Earlier runs on this machine may have left
# some, and one of them may have had this process id.
own_groups() {
  groups_named "plimsoll-*-$1-*" | grep -vxFf "$WORK/groups_before" || true
}

# The levels that work here, strongest first.
levels() {
  for level in cgroup2 freezer pidns sweep; do
    if "$PLIMSOLL" exec --level $level -- true 2>/dev/null; then
      echo $level
    else
      echo "level $level does not work here: not tested" >&2
    fi
  done
}
