#!/bin/sh
# A training that was stopped, even by kill -9, and resumed ends like one that never was: the same losses in
# the same digits, the same weights and optimizer state bit for bit.
. "$(dirname "$0")/lib.sh"
needs_training
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to compare checkpoints with"

plimsoll synth --nodes 20000 --edges 200000 --classes 10 --features 64 --seed 3 --out a.plim --quiet

# start STORE OPTIONS...: a training in the background. Its own id is kept, since timeout would not pass on
# every signal; timeout ends with the code of what it ran.
start() {
  rm -f pid
  : >output  # the words of the run before must not be taken for this one's
  timeout 600 sh -c 'echo $$ >pid; exec "$@"' sh "$PLIMSOLL" train "$@" --quiet >>output 2>&1 &
  waiter=$!
}
trap '[ ! -s pid ] || kill -KILL "$(cat pid)" 2>/dev/null || true; cleanup' EXIT

# stop SIGNAL
stop() {
  kill "-$1" "$(cat pid)" || fail "it was over before SIG$1"
  code=0
  wait $waiter || code=$?
  rm pid
}

# What a run found, without how long it took.
findings() {
  grep -E '"(best_epoch|train_acc|valid_acc|test_acc|epochs|status|epochs_run)"' "$1/results.json"
  sed -n '/"series"/,$p' "$1/results.json" | grep -v '"seconds"'
}

# ends_like REFERENCE FOLDER
ends_like() {
  findings "$1" >expected
  findings "$2" | diff expected - >output || fail "$2 found something else than $1"
  for file in last.pth best.pth; do
    same_tensors "$1/$file" "$2/$file"
  done
  left=$(find "$2" -name '*.partial')
  [ -z "$left" ] || fail "left behind: $left"
}

# go_on: by the command that the stopped run printed.
go_on() {
  next=$(tail -n 1 output)
  case $next in
    "  plimsoll train a.plim --resume "*) ;;
    *) fail "the last line is no command to go on with: $next" ;;
  esac
  eval "run $next"
}

# stopped SIGNAL NUMBER FOLDER: what every stop must leave and say.
stopped() {
  expect 9 "stopped by signal $2" "$3/last.pth is written; continue with:"
  [ -e "$3/last.pth" ] || fail "no last.pth after SIG$1"
  grep -q '"status": "stopped"' "$3/results.json" || fail "results.json does not say that it was stopped"
}

# GCN with dropout: each of the signals, in the middle of an epoch.
gcn="--model gcn --dropout 0.5 --hidden 128 --batch-size 64"
run timeout 600 "$PLIMSOLL" train a.plim $gcn --epochs 10 --quiet --save-dir gcn
expect 0 "Epoch 010"
for signal in TERM:15 INT:2 USR1:10; do
  number=${signal#*:} signal=${signal%:*}
  start a.plim $gcn --epochs 10 --save-dir "gcn_$signal"
  until_prints "Epoch 001"
  sleep 0.05
  stop "$signal"
  stopped "$signal" "$number" "gcn_$signal"
  go_on
  expect 0 "Epoch 010"
  ends_like gcn "gcn_$signal"
done

# A finished run has nothing left to do, and asking for it breaks nothing.
cp -r gcn_TERM gcn_before
run plimsoll train a.plim --resume gcn_TERM
expect 0 "10 epochs and 0 batches" "nothing left to do"
! grep -q "^Epoch" output || fail "it went on"
diff -r gcn_before gcn_TERM >output || fail "a resume without anything to do has changed files"
# Results that are missing or cut are made again.
for damage in "rm gcn_TERM/results.json" "truncate -s 0 gcn_TERM/results.json" "truncate -s 200 gcn_TERM/results.json"; do
  $damage
  run plimsoll train a.plim --resume gcn_TERM
  expect 0 "10 epochs and 0 batches" "learned   accuracy: "
  ends_like gcn gcn_TERM
done

# More epochs go on from the end, as if they had been asked for at once.
run timeout 600 "$PLIMSOLL" train a.plim $gcn --epochs 11 --quiet --save-dir gcn_11
expect 0 "Epoch 011"
run timeout 600 "$PLIMSOLL" train a.plim --resume gcn_TERM --epochs 11 --quiet
expect 0 "Epoch 011"
! grep -q "^Epoch 010" output || fail "it began again"
ends_like gcn_11 gcn_TERM

# SAGE with batch norm and a cosine schedule: stopped twice, and killed.
sage="--model sage --batch-norm --schedule cosine --dropout 0.3 --hidden 96 --batch-size 64"
run timeout 600 "$PLIMSOLL" train a.plim $sage --epochs 8 --quiet --save-dir sage
expect 0 "Epoch 008"
start a.plim $sage --epochs 8 --save-dir sage_twice
until_prints "Epoch 001"
stop TERM
stopped TERM 15 sage_twice
start a.plim --resume sage_twice
until_prints "Epoch 003"
stop USR1
stopped USR1 10 sage_twice
go_on
expect 0 "Epoch 008"
ends_like sage sage_twice

start a.plim $sage --epochs 8 --save-dir sage_killed --checkpoint-minutes 0.0005
until_prints "Epoch 002"
[ -e sage_killed/last.pth ] || fail "--checkpoint-minutes 0.0005 wrote nothing in two epochs"
stop KILL
[ "$code" -eq 137 ] || fail "exit code $code"
# On another number of threads, as on another machine.
run timeout 600 "$PLIMSOLL" train a.plim --resume sage_killed --quiet --threads 16 --workers 1
expect 0 "Epoch 008"
ends_like sage sage_killed

# GAT.
gat="--model gat --heads 4 --hidden 32 --batch-size 128 --fanout 10,5 --epochs 4"
run timeout 600 "$PLIMSOLL" train a.plim $gat --quiet --save-dir gat
expect 0 "Epoch 004"
start a.plim $gat --save-dir gat_stopped
until_prints "Epoch 001"
stop TERM
stopped TERM 15 gat_stopped
go_on
expect 0 "Epoch 004"
ends_like gat gat_stopped

# A signal while the training accuracy is computed, at the very end: the model in memory is the best epoch's
# then, and last.pth must stay the last one's. These settings learn by heart, so the best is an early one.
plimsoll synth papers100M --scale 0.004 --seed 1 --out wide.plim --quiet
end="wide.plim --model sage --hidden 64 --fanout 5,5 --eval full --dropout 0 --lr 0.02 --batch-size 128
  --epochs 12 --log-steps 4"
run timeout 600 "$PLIMSOLL" train $end --save-dir end
expect 0 "learned   accuracy: "
! grep -q "^learned .*(epoch 12," output || fail "the best epoch is the last one: this tests nothing"
start $end --save-dir end_stopped
until_prints "Epoch 012"
stop TERM
[ "$code" -eq 9 ] || [ "$code" -eq 0 ] || fail "exit code $code"
same_tensors end/last.pth end_stopped/last.pth # a signal during the last evaluation changes nothing
run plimsoll train wide.plim --resume end_stopped --quiet
expect 0
ends_like end end_stopped

# What does not belong together is refused, with both sides, and nothing is touched.
cp gcn/last.pth before.pth
run plimsoll train a.plim --resume gcn --hidden 64
expect 2 "--hidden 64" "128"
run plimsoll train a.plim --resume gcn --model sage
expect 2 "--model sage" "gcn"
run plimsoll train wide.plim --resume gcn
expect 3 "gcn/last.pth holds gcn 64 -> 128 -> 10" "gcn 128 -> 128 -> 172"
plimsoll synth --nodes 20000 --edges 200000 --classes 10 --features 64 --seed 4 --out b.plim --quiet
run plimsoll train b.plim --resume gcn
expect 3 "gcn/last.pth was trained on" "checksum" "same store"
cmp -s before.pth gcn/last.pth || fail "a refused --resume wrote to the folder"
head -c 3000 before.pth >gcn/last.pth
run plimsoll train a.plim --resume gcn
expect 3 "gcn/last.pth" "damaged"
cp before.pth gcn/last.pth

# One run a folder.
start a.plim $gcn --epochs 10 --save-dir busy
until_prints "Epoch 001"
run plimsoll train a.plim --save-dir busy --force
expect 7 "another run is writing to busy"
stop KILL

# A disk that fills up ends the run; the checkpoint before is whole, and the run goes on from it.
mkdir disk
if mount -t tmpfs -o size=1200k tmpfs disk 2>/dev/null; then
  trap 'umount disk; cleanup' EXIT  # nothing runs in the background any more
  run timeout 600 "$PLIMSOLL" train a.plim $sage --quiet --save-dir disk/sage --checkpoint-minutes 0.0001 \
    --save-every 1 --epochs 100
  expect 5 "No space left on device" "disk/sage/"
  left=$(find disk -name '*.partial')
  [ -z "$left" ] || fail "left behind: $left"
  [ -e disk/sage/last.pth ] || fail "no last.pth"
  run plimsoll predict a.plim --checkpoint disk/sage/last.pth --out p.npy --quiet
  expect 0 "wrote"
  rm disk/sage/epoch_*.pth
  run timeout 600 "$PLIMSOLL" train a.plim --resume disk/sage --quiet --epochs 12
  expect 0 "Epoch 012"
else
  echo "not tried: a full disk (mounting a small one needs root)"
fi
exit 0
