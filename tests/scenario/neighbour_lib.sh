# For scenarios of memory that is given back, after lib.sh and limit.sh: a neighbour in the same cgroup takes
# memory from a running training. The caller defines resident(), the bytes that the training has in memory.
# shellcheck shell=sh
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to be the neighbour"
make_cgroup neighbour
mkdir "$cgroup/training" "$cgroup/neighbour"
[ ! -e "$cgroup/cgroup.subtree_control" ] || echo +memory >"$cgroup/cgroup.subtree_control"

echo $((1024 * mib)) >"$cgroup/$limit_file"

# start NAME COMMAND...: in the background, in that part of the cgroup; NAME.pid has its id, NAME.out what it
# prints.
start() {
  name=$1
  shift
  : >"$name.out"
  timeout 600 sh -c 'echo $$ >"$1" && echo $$ >"$2/cgroup.procs" && shift 2 && exec "$@"' sh \
    "$name.pid" "$cgroup/$name" "$@" >>"$name.out" 2>&1 &
  eval "${name}_waiter=$!"
}
end_all() {
  for name in training neighbour; do
    [ ! -s $name.pid ] || kill -KILL "$(cat $name.pid)" 2>/dev/null || true
  done
  wait
  rmdir "$cgroup/training" "$cgroup/neighbour" "$cgroup"
  cleanup
}
trap end_all EXIT

# until_true WHAT COMMAND...: it comes true while the training runs.
until_true() {
  what=$1
  tries=0
  shift
  until "$@"; do
    kill -0 "$training_waiter" 2>/dev/null || { cat training.out; fail "the training ended before: $what"; }
    tries=$((tries + 1))
    [ $tries -lt 6000 ] || { cat ./*.out; fail "in five minutes it never came to this: $what"; }
    sleep 0.05
  done
}
says() { grep -q "$2" "$1.out"; }
resident_above() { [ "$(resident)" -gt "$1" ]; }

# a_neighbour_takes_memory OPTIONS...: of the training. It lowers its lines, raises them again, and learns
# what it learns alone.
a_neighbour_takes_memory() {
  plimsoll synth papers100M --scale 0.006 --seed 1 --quiet --out a.plim
  options="--model gcn --hidden 32 --batch-size 256 --fanout 3,2 --log-steps 1000 --memory 700M $*"
  start training "$PLIMSOLL" train a.plim $options --epochs 1000 --save-dir disturbed --memory-log memory.csv --quiet
  until_true "it trains" says training "Epoch 002"
  before=$(resident)
  start neighbour /usr/bin/python3 "$TESTS/scenario/neighbour.py" "$cgroup" 6
  until_true "the neighbour has its memory" says neighbour "longest wait"
  [ "$(kills)" = 0 ] || fail "the kernel killed something"
  tight=$(resident)
  waited=$(sed -n 's/^longest wait //p' neighbour.out)
  echo "the training had $((before / mib)) MiB, then $((tight / mib)) MiB; the neighbour waited $waited ms for 24 MiB at most"
  [ "$waited" != never ] && [ "$waited" -lt 1000 ] || fail "the memory was not given back within a second"
  [ $((before - tight)) -gt $((64 * mib)) ] || fail "the training gave back $((before - tight)) bytes"
  kill -TERM "$(cat neighbour.pid)"
  wait "$neighbour_waiter" || true
  rm neighbour.pid
  until_true "the lines rise again" resident_above $((tight + 48 * mib))
  sleep 2  # the memory log has ten samples a second; it must see this too
  echo "and $(($(resident) / mib)) MiB after the neighbour had gone"
  kill -TERM "$(cat training.pid)"
  code=0
  wait "$training_waiter" || code=$?
  rm training.pid
  cp training.out output
  expect 9 "disturbed/last.pth is written"
  [ "$(kills)" = 0 ] || fail "the kernel killed something"
  # The log of the run says the same: what it held went down, and up again.
  awk -F, -v mib=$mib 'NR > 1 {
      if ($2 > most) most = $2
      if (most - $2 > 64 * mib && (low == 0 || $2 < low)) low = $2
      if (low > 0 && $2 - low > 32 * mib) risen = $2
    }
    END {
      printf "by the log: %d, %d, %d MiB\n", most / mib, low / mib, risen / mib
      exit !risen
    }' memory.csv || fail "the memory log shows no line that goes down and up"
  done_epochs=$(grep -c '^Epoch' training.out)

  run timeout 600 "$PLIMSOLL" train a.plim --resume disturbed --epochs $((done_epochs + 1)) --quiet "$@"
  expect 0 "Epoch $(printf %03d $((done_epochs + 1)))"
  run timeout 600 "$PLIMSOLL" train a.plim $options --epochs $((done_epochs + 1)) --save-dir alone --quiet
  expect 0
  losses alone/results.json >wanted
  losses disturbed/results.json >found
  cmp wanted found || fail "a neighbour changed what was learned"
  echo "$((done_epochs + 1)) epochs with the same losses"
}
