#!/bin/sh
# Records of runs are not taken at their word: a forged one ends nobody and removes nothing, and is named. A
# disk without room for one is an error before the command starts.
. "$(dirname "$0")/exec_lib.sh"
runs=state/plimsoll/runs

plimsoll exec -- true
[ "$(stat -c %a $runs)" = 700 ] || fail "the folder of records has mode $(stat -c %a $runs)"
"$PLIMSOLL" exec -- sleep 30 &
pid=$!
tries=0
until [ -n "$(alive)" ] || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
[ "$(stat -c %a $runs/*.json)" = 600 ] || fail "a record has mode $(stat -c %a $runs/*.json)"
cp $runs/*.json record
name=$(basename $runs/*.json .json)
kill -TERM $pid
wait $pid || true
[ -z "$(ls $runs)" ] || fail "a record is left"

# forged NAME OLD NEW: a record as the run above had it, with something else in it.
forged() {
  rm -f $runs/*
  sed "s|$2|$3|" record >"$runs/$1"
  chmod 600 "$runs/$1"
  ! cmp -s record "$runs/$1" || fail "nothing was forged: $2"
}
# named WORDS: the record is named and left alone.
named() {
  run plimsoll orphans
  expect 0 "no processes are left over" "$@" "remove it"
  run plimsoll orphans --kill --grace 0.1s
  expect 0 "ended 0 processes" "$@"
  [ -n "$(ls $runs)" ] || fail "the record is gone: $*"
  run plimsoll orphans --json
  expect 0 '"unusable_records": [' '"why"'
}

mkdir -p victim/inside
echo precious >victim.json
forged "$name.json" "\"run\":\"$name\"" "\"run\":\"../../../victim\""
named "is about another run"
[ -e victim.json ] || fail "a forged record removed another file"
forged "$name.json" '"groups":\[[^]]*\]' "\"groups\":[\"$WORK/victim\"]"
named "is not a control group of this run"
[ -d victim/inside ] || fail "a forged record removed another folder"
forged "$name.json" '.*' '{'
named "is damaged"
forged "$name.json" '.*' ''
named "is damaged"
forged other.json '"host"' '"hosts"'
named "is not named after a run"
rm -f $runs/*
ln -s "$WORK/record" "$runs/$name.json"
named "is a symbolic link"
rm -f $runs/*
cp record "$runs/$name.json"
chmod 666 "$runs/$name.json"
named "can be written to by other users"
chmod 600 "$runs/$name.json"
chmod 777 $runs
named "can be written to by other users"
chmod 700 $runs

# A stranger's process in a group that has the right name, and as the keeper.
sleep 50 &
stranger=$!
start=$(sed 's/.*) //' /proc/$stranger/stat | cut -d' ' -f20)
forged "$name.json" '"keeper":{[^}]*}' "\"keeper\":{\"pid\":$stranger,\"start_ticks\":$start}"
run plimsoll orphans --kill --grace 0.1s
expect 0 "ended 0 processes"
kill -0 $stranger || fail "a forged record ended a stranger"
base=$(sed 's/.*"groups":\["\([^"]*\)".*/\1/; t; d' record)
base=${base%/*}
if [ -n "$base" ] && mkdir "$base/plimsoll-$name" 2>/dev/null; then
  echo $stranger >"$base/plimsoll-$name/cgroup.procs"
  rm -f $runs/*
  cp record "$runs/$name.json"
  named "of another program"
  kill -0 $stranger || fail "a stranger in a group of the right name was ended"
  kill $stranger
  wait $stranger 2>/dev/null || true
  run plimsoll orphans --kill --grace 0.1s
  expect 0 "removed 1 control group"
  [ ! -e "$base/plimsoll-$name" ] || fail "the empty group is left"
else
  echo "no control group here: a stranger in one is not tested"
  kill $stranger
fi
rm -f $runs/*

# A full disk, and one that cannot be written.
if mkdir full && mount -t tmpfs -o size=64k none full 2>/dev/null; then
  XDG_STATE_HOME=$WORK/full plimsoll exec -- true
  dd if=/dev/zero of=full/filler bs=1k 2>/dev/null || true
  run env XDG_STATE_HOME="$WORK/full" "$PLIMSOLL" exec -- touch ran
  left=$(ls full/plimsoll/runs)
  mount -o remount,ro full
  run_full=$code
  cp output output.full
  run env XDG_STATE_HOME="$WORK/full" "$PLIMSOLL" exec -- sh -c 'exit 9'
  umount full
  [ "$run_full" = 125 ] || fail "exit code $run_full on a full disk"
  grep -q "No space left on device" output.full || fail "a full disk is not named: $(cat output.full)"
  [ ! -e ran ] || fail "the command ran without a record on a full disk"
  [ -z "$left" ] || fail "a full disk left $left"
  expect 9 "cannot keep a record of this run" "XDG_STATE_HOME"
else
  echo "nothing can be mounted here: a full disk is not tested"
fi
