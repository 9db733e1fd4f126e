#!/bin/sh
# kill -9 of a random rank at a random moment, from the very start on, PLIMSOLL_RANK_KILLS (4) times: each
# time all others are gone within ten seconds, the run resumes, and it ends with the weights of an undisturbed
# one.
. "$(dirname "$0")/lib.sh"
needs_training
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to compare checkpoints with"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT SLURM_PROCID SLURM_STEP_ID
kills=${PLIMSOLL_RANK_KILLS:-4}
seed=${PLIMSOLL_SEED:-1}
ranks=3
# Milliseconds. Ten seconds are promised; a few kills among other tests may meet a busy machine.
[ "$kills" -gt 20 ] && most=10000 || most=25000

plimsoll synth --nodes 20000 --edges 200000 --classes 5 --features 32 --seed 4 --out a.plim --quiet
train="train a.plim --model sage --dropout 0.3 --hidden 32 --fanout 8,6 --batch-size 150 --epochs 8 --threads 1
  --ranks $ranks --quiet"
run plimsoll $train --save-dir calm # measures the machine
expect 0 "Epoch 008"
now_ms() { echo $(($(date +%s%N) / 1000000)); }
began=$(now_ms)
run plimsoll $train --save-dir calm --force
expect 0 "Epoch 008"
longest=$((($(now_ms) - began) * 3 / 4))

trap '[ -z "${launcher:-}" ] || kill -KILL "$launcher" 2>/dev/null || true; cleanup' EXIT
children() { cat "/proc/$launcher/task/$launcher/children" 2>/dev/null || true; }
compare() {
  for file in last.pth best.pth; do
    same_tensors "calm/$file" "killed/$file"
  done
}

done=0
tries=0
finished=0
worst=0
while [ $done -lt "$kills" ]; do
  tries=$((tries + 1))
  [ $tries -le $((3 * kills + 20)) ] || fail "only $done of $tries attempts could be killed"
  "$PLIMSOLL" $train --save-dir killed --resume auto >output 2>&1 &
  launcher=$!
  # RANK and MILLISECONDS of this attempt.
  set -- $(awk -v seed="$((seed * 1000 + tries))" -v ranks=$ranks -v most="$longest" \
    'BEGIN { srand(seed); rand(); print int(ranks * rand()), int(most * rand()) }')
  until [ "$(children | wc -w)" -eq $ranks ] || ! kill -0 $launcher 2>/dev/null; do sleep 0.01; done
  sleep "$(awk -v ms="$2" 'BEGIN { print ms / 1000 }')"
  victim=$(children | cut -d ' ' -f $(($1 + 1)))
  processes=$(children)
  if [ -z "$victim" ] || ! kill -KILL "$victim" 2>/dev/null; then
    code=0
    wait $launcher || code=$?
    expect 0
    compare
    rm -r killed
    finished=$((finished + 1))
    continue
  fi
  began=$(now_ms)
  code=0
  wait $launcher || code=$?
  took=$(($(now_ms) - began))
  [ "$code" -eq 13 ] || [ "$code" -eq 0 ] || fail "exit code $code, 13 expected"
  for process in $processes; do
    [ ! -e "/proc/$process" ] || fail "rank process $process is left"
  done
  [ $took -le $most ] || fail "rank $1 was killed after $2 ms; the others needed $took ms"
  [ $took -le $worst ] || worst=$took
  done=$((done + 1))
done
run plimsoll $train --save-dir killed --resume auto
expect 0
compare
echo "$done kills, the last process was gone after $worst ms at most; $((finished + 1)) runs with identical weights"
