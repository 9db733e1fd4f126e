#!/bin/sh
# Ranks on two hosts, each a network and process namespace of this machine: they learn what one process
# learns, each host loads its own lines, and when the network between them is lost, both end soon and say
# which rank is lost.
. "$(dirname "$0")/lib.sh"
needs_training
. "$TESTS/scenario/ranks_lib.sh"
command -v ip >/dev/null && command -v unshare >/dev/null || skip "no ip or unshare here"
hosts=plimsoll-$$
# Of each veth pair one end is on each host; the numbers keep two runs of this test apart.
net=10.$((64 + $$ % 128)).$(($$ / 128 % 256))
remove_hosts() {
  ip netns del "$hosts-0" 2>/dev/null || true
  ip netns del "$hosts-1" 2>/dev/null || true
  cleanup
}
trap remove_hosts EXIT
ip netns add "$hosts-0" 2>/dev/null && ip netns add "$hosts-1" || skip "no network namespaces here (needs root)"
ip link add eth0 netns "$hosts-0" type veth peer name eth0 netns "$hosts-1" || skip "no veth pairs here"
for host in 0 1; do
  ip -n "$hosts-$host" addr add "$net.$((host + 1))/24" dev eth0
  ip -n "$hosts-$host" link set eth0 up
  ip -n "$hosts-$host" link set lo up
done
ip netns exec "$hosts-0" unshare --pid --fork --mount-proc true 2>/dev/null || skip "no process namespaces here"

# on_host HOST COMMAND...: as rank HOST of two.
on_host() {
  host=$1
  shift
  ip netns exec "$hosts-$host" unshare --pid --fork --mount-proc --kill-child timeout 100 \
    env "RANK=$host" WORLD_SIZE=2 LOCAL_RANK=0 "MASTER_ADDR=$net.1" MASTER_PORT=29777 "$PLIMSOLL" "$@"
}

plimsoll synth --nodes 20000 --edges 200000 --classes 5 --features 32 --seed 4 --out a.plim --quiet
cp -r a.plim b.plim
options="--hidden 32 --fanout 8,6 --batch-size 150 --threads 1"

run plimsoll train a.plim $options --epochs 2 --save-dir one --quiet
expect 0 "Epoch 002"
on_host 1 train b.plim $options --epochs 2 --save-dir other >output1 2>&1 &
other=$!
run on_host 0 train a.plim $options --epochs 2 --save-dir hosts
wait $other || fail "rank 1 failed: $(cat output1)"
expect 0 "they meet at $net.1:29777; on 2 hosts"
learns_like one hosts 2
[ "$(grep -c '"shared_bytes": 0' hosts/results.json)" -eq 2 ] || fail "hosts cannot share memory"

# The network goes. Ten seconds are promised; the rest is for a busy machine.
: >output  # the words of the run before must not be taken for this one's
on_host 1 train b.plim $options --epochs 100000 --log-steps 100000 --save-dir other --quiet >output1 2>&1 &
other=$!
on_host 0 train a.plim $options --epochs 100000 --log-steps 100000 --save-dir lost --quiet >output 2>&1 &
first=$!
until_prints "Epoch 001"
ip -n "$hosts-1" link set eth0 down
began=$(date +%s)
code=0
wait $first || code=$?
expect 13 "rank 1 on " "its host was lost" "lost/last.pth"
code=0
wait $other || code=$?
[ "$code" -eq 13 ] || fail "rank 1 ended with $code: $(cat output1)"
grep -qF "rank 0 on " output1 || fail "rank 1 does not say who is lost: $(cat output1)"
took=$(($(date +%s) - began))
[ $took -le 25 ] || fail "it took $took seconds"
