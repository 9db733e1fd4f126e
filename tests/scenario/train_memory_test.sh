#!/bin/sh
# Training takes the store, a few batches and the runtime, and no more after 50 epochs than after 10. Within a
# memory limit that the kernel enforces, a little above the store, it runs to the end.
. "$(dirname "$0")/lib.sh"
needs_training
[ -r /proc/self/status ] || skip "no /proc to read the memory from"

mib=1048576
trap '[ ! -s pid ] || kill -KILL "$(cat pid)" 2>/dev/null || true; cleanup' EXIT
plimsoll synth --nodes 5000 --edges 50000 --classes 10 --features 64 --seed 3 --out a.plim --quiet

# resident_at EPOCH: the running training's memory once that epoch is done, in KiB.
resident_at() {
  until_prints "Epoch $1"
  awk '/^VmRSS:/ { print $2 }' "/proc/$(cat pid)/status"
}

# Every epoch draws other neighbours, so buffers still find their largest size in the first ones.
for options in "--model sage --eval full" "--model gcn --batch-norm --log-steps 1"; do
  rm -rf models pid
  : >output
  timeout 600 sh -c 'echo $$ >pid; exec "$@"' sh "$PLIMSOLL" train a.plim $options --hidden 64 --fanout 5,5 \
    --batch-size 128 --epochs 70 --save-every 10 --checkpoint-minutes 0.002 --quiet >>output 2>&1 &
  waiter=$!
  early=$(resident_at 010)
  late=$(resident_at 060)
  [ -n "$early" ] && [ -n "$late" ] || fail "it was over before its memory could be read"
  code=0
  wait $waiter || code=$?
  rm pid
  expect 0 "Epoch 070"
  echo "$options: $((early / 1024)) MiB after 10 epochs, $((late / 1024)) MiB after 60"
  [ $((late - early)) -lt 6144 ] || fail "it grew from $early KiB to $late KiB in 50 epochs"
done

# Thousands of epochs: what is kept of each, and reading it again, is in the plan, and more is not taken.
tiny="--model gcn --hidden 16 --fanout 2,2 --batch-size 4 --threads 1 --device cpu"
cp -r "$TESTS/golden/tiny.plim" tiny.plim
number() { sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p" "$2"; }
for epochs in 50 2000; do
  plimsoll plan tiny.plim $tiny --epochs $epochs --memory 16G --json >plan.json
  least=$(number minimum_bytes plan.json)
  run timeout 600 "$PLIMSOLL" train tiny.plim $tiny --epochs $epochs --memory "$least" --save-dir e$epochs --quiet
  expect 0 "Epoch $(printf %03d $epochs)"
done
grew=$(($(number peak_memory_bytes e2000/results.json) - $(number peak_memory_bytes e50/results.json)))
planned=$(($(number planned_memory_bytes e2000/results.json) - $(number planned_memory_bytes e50/results.json)))
echo "2000 epochs instead of 50: $((grew / 1024)) KiB more, $((planned / 1024)) KiB planned"
[ $grew -le $((planned + mib)) ] || fail "2000 epochs took $grew bytes more than 50, $planned were planned"
[ $planned -lt $((8 * mib / 3)) ] || fail "$planned bytes are planned for 2000 epochs"
run timeout 600 "$PLIMSOLL" train tiny.plim --resume e2000 --epochs 2001 --threads 1 --device cpu \
  --memory $((least + 8192)) --quiet
expect 0 "Epoch 2001"
! grep -q "left out" output || fail "something was left out"
run timeout 600 "$PLIMSOLL" predict tiny.plim --checkpoint e2000/last.pth --threads 1 --device cpu --out tiny.npy \
  --memory $((least + 3 * mib))
expect 0 "wrote"

# in_bytes NUMBER UNIT
in_bytes() {
  case $2 in KiB) unit=1024 ;; MiB) unit=$mib ;; GiB) unit=$((1024 * mib)) ;; *) unit=1 ;; esac
  awk "BEGIN { printf \"%d\", $1 * $unit }"
}

# The breakdown at the end: its parts, the runtime among them, make up what is resident; the store is in there
# once.
plimsoll synth papers100M --scale 0.01 --seed 2 --out b.plim --quiet
store=$(du -sb b.plim | cut -f 1)
run timeout 600 "$PLIMSOLL" train b.plim --model sage --hidden 32 --fanout 10,5 --epochs 2 --verbose --force
expect 0 "parts     "
grep '^parts ' output | sed 's/^parts *//; s/, /\n/g' >parts
sum=0
of_store=0
while read -r line; do
  bytes=$(in_bytes $(echo "$line" | sed 's/.* \([0-9.]* [KMG]*i*B\)$/\1/'))
  sum=$((sum + bytes))
  case $line in
    features* | graph*) of_store=$((of_store + bytes)) ;;
    runtime*) runtime=$bytes ;;
  esac
done <parts
peak=$(sed -n 's/^  "peak_memory_bytes": \([0-9]*\),$/\1/p' models/results.json)
echo "in MiB: store $((store / mib)), parts $((sum / mib)), runtime $((runtime / mib)), peak $((peak / mib))"
[ $sum -le $((peak + 2 * mib)) ] || fail "the parts are $sum bytes, the peak was $peak"
[ $sum -gt $((peak / 10 * 8)) ] || fail "the parts are $sum bytes of $peak: something is missing"
[ $of_store -le "$store" ] && [ $of_store -gt $((store / 10 * 8)) ] ||
  fail "graph and features take $of_store bytes, the store $store"
[ "$runtime" -lt $((300 * mib)) ] || fail "the runtime takes $runtime bytes"
[ "$peak" -lt $((store + 300 * mib)) ] || fail "the peak is $peak bytes for a store of $store"

# A limit by the kernel, cgroup v1 or v2.
limit=$(((store / mib + 300) * mib))
group=plimsoll-train-test-$$
v1=/sys/fs/cgroup/memory/$group
v2=/sys/fs/cgroup/$group
if mkdir "$v1" 2>/dev/null && echo $limit >"$v1/memory.limit_in_bytes" 2>/dev/null; then
  cgroup=$v1 peak_file=memory.max_usage_in_bytes version=v1
elif echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "$v2" 2>/dev/null &&
  echo $limit >"$v2/memory.max" 2>/dev/null; then
  cgroup=$v2 peak_file=memory.peak version=v2
else
  rmdir "$v1" "$v2" 2>/dev/null || true
  echo "not tried: a real memory limit (needs root, or a delegated cgroup)"
  exit 0
fi
trap 'rmdir "$cgroup"; cleanup' EXIT
inside() {
  timeout 600 sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$@"
}
memory=$((limit / mib))M
run inside "$PLIMSOLL" train b.plim --model sage --hidden 32 --fanout 10,5 --epochs 2 --memory $memory \
  --save-dir inside
expect 0 "Epoch 002" "inside/best.pth"
used=$(cat "$cgroup/$peak_file")
echo "cgroup $version: peak $((used / mib)) MiB of $((limit / mib)) MiB"
[ "$used" -lt $limit ] || fail "the cgroup counted $used bytes"
# Evaluating with all neighbours keeps hidden rows, in memory or in a file.
for hidden in 16 64; do
  run inside "$PLIMSOLL" train b.plim --model sage --hidden $hidden --fanout 10,5 --epochs 1 --eval full \
    --memory $memory --save-dir "inside_$hidden"
  expect 0 "Epoch 001"
done
# Without the flag the kernel's limit is found, and is kept to.
run inside "$PLIMSOLL" train b.plim --hidden 32 --epochs 1 --save-dir inside_default
expect 0 "cgroup $version" "Epoch 001"
exit 0
