#!/bin/sh
# Under sudo the results belong to who called it: all of them, at the end and after a crash.
. "$(dirname "$0")/run_lib.sh"
[ "$(id -u)" = 0 ] || skip "only root can give files away"
export SUDO_UID=65534 SUDO_GID=65534
write_settings '{"repo": "toy", "model": "good", "mode": "default", "runs_per_config": 2}'
run plimsoll run -ec settings.json
expect 0 "2 succeeded"
strangers() {
  find results \( ! -uid 65534 -o ! -gid 65534 \)
}
[ -z "$(strangers)" ] || fail "root's: $(strangers)"
# Killed in the middle: who called it can go on without sudo.
write_settings '{"repo": "toy", "model": "long", "mode": "default", "timeout": 2, "retry_on": []}'
"$PLIMSOLL" run -ec settings.json >output 2>&1 &
driver=$!
sleep 0.7
kill -KILL $driver
wait $driver 2>/dev/null || true
nothing_alive "a crash" 80
command -v setpriv >/dev/null || skip "no setpriv: going on as another user is not tested"
chmod 755 "$WORK"
cp "$PLIMSOLL" programs/plimsoll
chmod -R a+rX "$WORK"
unset SUDO_UID SUDO_GID
as_caller() {
  setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$WORK/nowhere" XDG_STATE_HOME="$WORK/results/state" "$@"
}
as_caller programs/plimsoll exec -- true || skip "the other user cannot run the program"
run as_caller programs/plimsoll run --resume "$(newest)"
expect 11 "0 succeeded, 1 failed, 0 left"
[ -f "$(newest)/toy_long_001/attempt_2/training.log" ] || fail "it did not go on"
