#!/bin/sh
# A training that is requeued at random moments, PLIMSOLL_REQUEUES (4) times, ends with the weights of one
# that never was, and no batch is trained twice.
. "$(dirname "$0")/../scenario/lib.sh"
. "$TESTS/slurm/cluster.sh"
requeues=${PLIMSOLL_REQUEUES:-4}
seed=${PLIMSOLL_SEED:-1}
epochs=$((10 * requeues + 10))
nodes=20000
start_cluster

plimsoll synth --nodes $nodes --edges 200000 --classes 10 --features 64 --seed 3 --out a.plim --quiet
training="a.plim --model sage --dropout 0.3 --hidden 64 --batch-size 64 --fanout 5,5 --epochs $epochs --threads 1"
now() { date +%s.%N; }
first="a.plim --epochs 1 --threads 1 --memory 1G --save-dir first --quiet"
plimsoll train $first >first.log 2>&1 || fail "$(cat first.log)" # measures the machine
began=$(now)
plimsoll train $first --force >first.log 2>&1 || fail "$(cat first.log)"
middle=$(now)
plimsoll train $training --memory 1G --save-dir calm --quiet >calm.log 2>&1 || fail "$(cat calm.log)"
# How long an attempt lasts at most: to start, and half of its share of the undisturbed run.
longest=$(echo "$began $middle $(now)" | awk -v requeues="$requeues" '{ print $2 - $1 + ($3 - $2) / requeues / 2 }')
all=$(sed -n 's/.*"batches_run": \([0-9]*\).*/\1/p' calm/results.json)

run plimsoll slurm train $training --quiet --save-dir models --job-name it --mem 2G --max-requeues 1000 --submit
expect 0 "submitted job "
job=$(sed -n 's/submitted job //p' output)
log=it-$job.log

attempts() { grep -c '^plimsoll slurm: job ' "$log" 2>/dev/null || true; }
epochs_done() { grep -c '^Epoch' "$log" 2>/dev/null || true; }
has_begun() { [ "$(attempts)" -ge "$1" ]; }
rests() { is_in_state "$job" PENDING || has_ended "$job"; }

# The batches of the attempt that has just ended. One that was stopped while it loaded has trained none.
batches=0
count_batches() {
  [ -e models/results.json ] || return 0
  batches=$((batches + $(sed -n 's/.*"batches_run": \([0-9]*\).*/\1/p' models/results.json)))
  rm models/results.json
}

done=0
while [ $done -lt "$requeues" ]; do
  wait_until 60 has_begun $((done + 1)) || fail "attempt $((done + 1)) never began: $(cat "$log")"
  # From the very start, before anything is loaded, until a random moment. A machine that is faster than it
  # was in the undisturbed run must not end the training too early: half of the epochs' share is the most.
  had=$(epochs_done)
  most=$(((epochs - had) / (2 * (requeues - done)) + 1))
  until=$(awk -v seed="$((seed * 1000 + done))" -v most="$longest" -v now="$(now)" \
    'BEGIN { srand(seed); printf "%.3f\n", now + most * rand() }')
  while [ $(($(epochs_done) - had)) -lt $most ] && awk "BEGIN { exit !($(now) < $until) }"; do sleep 0.02; done
  scancel --batch --signal=USR1 "$job" || fail "the training was over after $done requeues: more epochs"
  wait_until 60 rests || fail "the job is still $(state "$job")"
  ! has_ended "$job" || fail "the job ended as $(ended "$job") after $done requeues: $(tail -n 5 "$log")"
  done=$((done + 1))
  count_batches
  start_now "$job"
done
wait_until 300 has_ended "$job" || fail "the job does not end: $(tail -n 3 "$log")"
[ "$(ended "$job")" = COMPLETED ] || fail "the job ended as $(ended "$job"): $(tail -n 5 "$log")"
count_batches
cat "$log" >output

restarts=$(scontrol show job -o "$job" | grep -o 'Restarts=[0-9]*' | cut -d= -f2)
[ "$restarts" -eq "$requeues" ] || fail "$restarts restarts, $requeues expected"
[ "$batches" -eq "$all" ] || fail "$batches batches were trained, an undisturbed run trains $all"
[ "$(grep -c '^Epoch' "$log")" -eq "$epochs" ] || fail "not every epoch ended once"
for file in last.pth best.pth; do
  same_tensors calm/$file models/$file
done
echo "$requeues requeues, $batches batches, identical weights"
