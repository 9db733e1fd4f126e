#!/bin/sh
# status and results for somebody who may read a run and not write it: while it runs, after its end, after a
# crash, on a disk that is mounted read-only.
. "$(dirname "$0")/run_lib.sh"
command -v setpriv >/dev/null || skip "no setpriv: becoming another user is not possible"
[ "$(id -u)" = 0 ] || skip "only root can become another user"
chmod 755 "$WORK"
cp "$PLIMSOLL" programs/plimsoll
chmod a+rx programs programs/plimsoll
# as_reader COMMAND...: as a user to whom nothing here belongs.
as_reader() {
  setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "$WORK/programs/plimsoll" "$@"
}
as_reader --version >/dev/null || skip "the other user cannot run the program"
# untouched WHEN: nothing of the run belongs to the reader, and nothing was left for it.
untouched() {
  [ -z "$(find results -uid 65534)" ] || fail "$1: the reader wrote $(find results -uid 65534)"
  [ -z "$(find results -name '*-shm')" ] || fail "$1: shared memory, which network disks have not"
}

write_settings '{"repo": "toy", "model": "good", "mode": "default"}, {"repo": "toy", "model": "long", "mode": "default"}'
umask 022
"$PLIMSOLL" run -ec settings.json >driver.log 2>&1 &
driver=$!
tries=0
until [ -d results ] && grep -qs "loss: 1" "$(newest)/toy_long_002/training.log"; do
  tries=$((tries + 1))
  [ $tries -lt 1500 ] || fail "the batch does not go on: $(cat driver.log)"
  sleep 0.1
done
look() {
  run as_reader status "$(newest)"
  expect 0 "$@"
  run as_reader results "$(newest)"
  expect 0 "toy/good, 1 experiment: 1 succeeded"
  run as_reader results "$(newest)" --csv
  expect 0 "toy_good_001"
}
look ": running" "1 succeeded, 0 failed, 1 left"
untouched "while it runs"
kill -KILL $driver
wait $driver 2>/dev/null || true
nothing_alive "a crash" 80
[ -f "$(newest)/journal.sqlite-wal" ] || fail "the crash left no log: nothing is tested here"
look "not running" "interrupted: toy_long_002"
untouched "after a crash"
run as_reader run --resume "$(newest)"
expect 6 "check its owner and permissions"

# A disk that nobody can write to, root either.
if unshare --mount true 2>/dev/null; then
  run unshare --mount sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ! touch "$1/x" 2>/dev/null && "$2" status "$1" && "$2" results "$1"' \
    - "$(newest)" "$PLIMSOLL"
  expect 0 "not running" "1 experiment: 1 succeeded"
fi
write_settings '{"repo": "toy", "model": "good", "mode": "default"}'
run plimsoll run -ec settings.json
expect 0
look ": finished"
untouched "after its end"
chmod 700 "$(newest)"
run as_reader status "$(newest)"
expect 6 "$(newest)"
