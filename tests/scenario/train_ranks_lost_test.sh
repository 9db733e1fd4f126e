#!/bin/sh
# A rank's end is everybody's end: killed, stopped or asked to end, the others end soon, the message says
# which and why, and a resumed run ends like one that was never disturbed, bit for bit.
. "$(dirname "$0")/lib.sh"
needs_training
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to compare checkpoints with"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT SLURM_PROCID SLURM_STEP_ID

plimsoll synth --nodes 20000 --edges 200000 --classes 5 --features 32 --seed 4 --out a.plim --quiet
train="train a.plim --hidden 32 --fanout 8,6 --batch-size 150 --epochs 4 --threads 1 --ranks 3 --quiet"

run plimsoll $train --save-dir undisturbed
expect 0 "Epoch 004"

# The processes of the run in the background: its ranks are children of the launcher.
start() {
  : >output
  rm -f pid
  timeout 120 sh -c 'echo $$ >pid; exec "$@"' sh "$PLIMSOLL" $train --save-dir "$1" >>output 2>&1 &
  waiter=$!
  until_prints "Epoch 001"
}
trap '[ ! -s pid ] || kill -KILL "$(cat pid)" 2>/dev/null || true; cleanup' EXIT

# rank_pid RANK
rank_pid() {
  for process in $(cat "/proc/$(cat pid)/task/$(cat pid)/children"); do
    if tr '\0' '\n' <"/proc/$process/environ" | grep -qx "RANK=$1"; then
      echo "$process"
      return
    fi
  done
  fail "rank $1 is not there"
}

# ends SECONDS: all processes end within so many seconds; sets $code.
ends() {
  processes="$(cat pid) $(cat "/proc/$(cat pid)/task/$(cat pid)/children" 2>/dev/null || true)"
  began=$(date +%s)
  code=0
  wait $waiter || code=$?
  took=$(($(date +%s) - began))
  [ $took -le "$1" ] || fail "it took $took seconds"
  for process in $processes; do
    [ ! -e "/proc/$process" ] || fail "process $process is left"
  done
  rm pid
}

# goes_on FOLDER: by the command that stands in the last line but those of the launcher.
goes_on() {
  next=$(grep -F "  plimsoll train a.plim --resume $1" output) || fail "it does not say how to go on"
  eval "run $next"
  expect 0 "Epoch 004"
  for file in last.pth best.pth; do
    same_tensors "undisturbed/$file" "$1/$file"
  done
}

# A rank is killed. The time is for a busy machine; two seconds are usual, ten are promised.
start killed
kill -KILL "$(rank_pid 2)"
ends 25
expect 13 "rank 2 on $(hostname)" "was killed" "rank 2 was ended by signal 9" "last.pth"
goes_on killed

# Rank 0 is killed: nobody can write, and what it wrote before remains.
start first_killed
kill -KILL "$(rank_pid 0)"
ends 25
expect 13 "rank 0 on $(hostname)" "rank 0 was ended by signal 9"
goes_on first_killed

# A rank is stopped and does not answer.
start stuck
kill -STOP "$(rank_pid 1)"
ends 45
expect 13 "rank 1 on $(hostname)" "silent for 6 seconds" "rank 1 did not end in time"
goes_on stuck

# A rank hangs: only the threads that beat and look after something go on. Rank 0 then serves no messages.
for rank in 0 1; do
  start "hanging$rank"
  /usr/bin/python3 "$TESTS/scenario/hold_process.py" "$(rank_pid $rank)" heart ticker >held 2>&1 &
  holder=$!
  tries=0
  until [ -s held ]; do
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || fail "nothing is held"
    sleep 0.02
  done
  if ! grep -q "^held" held; then
    echo "not tested here: a rank that hangs ($(cat held))"
    kill -KILL "$(cat pid)"
    wait $waiter || true
    rm pid
    break
  fi
  ends 30
  case $rank in
    0) expect 13 "rank 0 on $(hostname)" "it does not answer" ;;
    *) expect 13 "rank $rank on $(hostname)" "it hangs: for 6 seconds it has neither computed nor read nor written" ;;
  esac
  kill $holder 2>/dev/null || true
  wait $holder 2>/dev/null || true
  goes_on "hanging$rank"
done

# The whole job is suspended for longer than any silence, as Slurm does, and its processes wake up one by one.
start suspended
processes="$(cat pid) $(cat "/proc/$(cat pid)/task/$(cat pid)/children")"
kill -STOP $processes
sleep 12
for process in $processes; do
  kill -CONT "$process"
  sleep 0.5
done
code=0
wait $waiter || code=$?
expect 0 "Epoch 004"
rm pid
same_tensors undisturbed/last.pth suspended/last.pth

# Asked to end: one rank, the launcher.
start one_asked
kill -TERM "$(rank_pid 1)"
ends 25
expect 9 "stopped by signal 15" "last.pth is written"
goes_on one_asked
start all_asked
kill -USR1 "$(cat pid)"
ends 25
expect 9 "stopped by signal 10"
goes_on all_asked

# The launcher is killed: its ranks stop in order.
start orphaned
processes=$(cat "/proc/$(cat pid)/task/$(cat pid)/children")
kill -KILL "$(cat pid)"
wait $waiter && fail "a killed launcher ended well"
tries=0
for process in $processes; do
  while [ -e "/proc/$process" ]; do
    tries=$((tries + 1))
    [ $tries -lt 2500 ] || fail "rank process $process is left"
    sleep 0.02
  done
done
rm pid
expect_text="stopped by signal 15"
grep -qF "$expect_text" output || fail "nothing says: $expect_text"
goes_on orphaned

# The same while rows are read from disk and threads share the work: no rank may give up a batch that the
# other one waits for.
plimsoll synth papers100M --scale 0.002 --seed 1 --out a0.plim --quiet
disk="a0.plim --hidden 32 --fanout 8,6 --batch-size 150 --epochs 3 --ranks 2"
run plimsoll train $disk --threads 2 --save-dir in_memory --quiet
expect 0 "Epoch 003"
least=$("$PLIMSOLL" plan $disk --threads 2 --json | sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p')
for moment in 0.1 0.4 0.7; do
  : >output
  rm -rf on_disk
  "$PLIMSOLL" train $disk --threads 2 --memory "$least" --save-dir on_disk --quiet >output 2>&1 &
  launcher=$!
  until_prints "Epoch 001"
  sleep $moment
  kill -TERM $launcher
  code=0
  timeout 40 tail --pid=$launcher -f /dev/null || { kill -KILL $launcher; fail "the ranks do not stop: $moment"; }
  wait $launcher || code=$?
  expect 9 "stopped by signal 15"
  run plimsoll train a0.plim --resume on_disk --ranks 2 --threads 2 --quiet
  expect 0 "Epoch 003"
  same_tensors in_memory/last.pth on_disk/last.pth
done

# A rank fails by itself, here because its store is damaged while it reads from it: all end, and rank 0 says
# why.
cp -r a0.plim a1.plim
least=$("$PLIMSOLL" plan a0.plim --hidden 32 --fanout 8,6 --batch-size 150 --epochs 100000 --threads 1 --ranks 2 --json |
  sed -n 's/^ *"minimum_bytes": \([0-9]*\),*$/\1/p')
port=$((20000 + $$ % 10000))
# as_rank RANK STORE
as_rank() {
  RANK=$1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout 100 "$PLIMSOLL" train "$2" --hidden 32 \
    --fanout 8,6 --batch-size 150 --epochs 100000 --log-steps 100000 --threads 1 --memory "$least" --save-dir damaged --quiet
}
: >output
as_rank 1 a1.plim >output1 2>&1 &
other=$!
as_rank 0 a0.plim >output 2>&1 &
first=$!
until_prints "Epoch 001"
: >a1.plim/features.f16
code=0
wait $first || code=$?
expect 13 "rank 1 on $(hostname)" "has failed: " "a1.plim/features.f16" "damaged/last.pth"
code=0
wait $other || code=$?
[ "$code" -eq 8 ] || fail "rank 1 ended with $code: $(cat output1)"
