# Shared by the scripts about faults, after ../scenario/lib.sh: a training in the background, and what must be
# true of its last checkpoint when it has ended.
# shellcheck shell=sh
needs_training

# start STORE OPTIONS...: a training without an end, whose output goes to `output`. It writes last.pth again
# and again.
start() {
  : >output
  timeout 600 sh -c 'echo $$ >pid; exec "$@"' sh "$PLIMSOLL" train "$@" --epochs 100000 --checkpoint-minutes 0.001 \
    --log-steps 100000 --quiet >>output 2>&1 &
  waiter=$!
}
end_training() { [ ! -s pid ] || kill -KILL "$(cat pid)" 2>/dev/null || true; }
trap 'end_training; cleanup' EXIT

# until_epoch NUMBER FOLDER: it has come that far, and has written a checkpoint.
until_epoch() {
  tries=0
  until grep -q "^Epoch $1" output && [ -e "$2/last.pth" ]; do
    kill -0 $waiter 2>/dev/null || fail "it ended before epoch $1"
    tries=$((tries + 1))
    [ $tries -lt 15000 ] || fail "epoch $1 never came"
    sleep 0.02
  done
}

# ends CODE TEXT...: by itself. $epochs is one more than it had done.
ends() {
  tries=0
  while kill -0 $waiter 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 6000 ] || fail "five minutes after the fault it still runs"
    sleep 0.05
  done
  code=0
  wait $waiter || code=$?
  rm pid
  expect "$@"
  epochs=$(($(grep -c '^Epoch' output) + 1))
  grep -F -- "$2" output | sed 's/^/  /'
}

# goes_on STORE FOLDER OPTIONS...: last.pth is whole, the run goes on from it, and learns what one without
# faults learns.
goes_on() {
  store=$1 folder=$2
  shift 2
  left=$(find "$folder" -name '*.partial')
  [ -z "$left" ] || fail "left behind: $left"
  run timeout 600 "$PLIMSOLL" predict "$store" --checkpoint "$folder/last.pth" --split valid --out p.npy --quiet --force
  expect 0 "wrote"
  run timeout 600 "$PLIMSOLL" train "$store" --resume "$folder" --epochs $epochs --quiet
  expect 0 "Epoch $(printf %03d $epochs)"
  run timeout 600 "$PLIMSOLL" train "$store" "$@" --log-steps 100000 --epochs $epochs --save-dir faultless --quiet --force
  expect 0
  for each in "$folder" faultless; do grep '"loss"' "$each/results.json" >"$(basename "$each").losses"; done
  cmp "$(basename "$folder").losses" faultless.losses || fail "after the fault it learned something else"
}
