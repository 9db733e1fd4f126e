#!/bin/sh
# Ranks that srun starts on both nodes find each other by Slurm's variables and learn what one process learns.
# A rank that is killed ends the step, and a signal from Slurm stops all ranks with a checkpoint; both
# continue. So does a job that Slurm suspends.
. "$(dirname "$0")/../scenario/lib.sh"
. "$TESTS/slurm/cluster.sh"
. "$TESTS/scenario/ranks_lib.sh"
start_cluster
plimsoll synth --nodes 20000 --edges 200000 --classes 5 --features 32 --seed 4 --out a.plim --quiet
options="--hidden 32 --fanout 8,6 --batch-size 150 --threads 1 --device cpu"
run plimsoll train a.plim $options --epochs 3 --save-dir one --quiet
expect 0 "Epoch 003"

# ranks COMMAND...: four tasks on two nodes. The nodes are this machine by other names, so ranks meet on
# loopback.
ranks() {
  MASTER_ADDR=127.0.0.1 srun --quiet --nodes=2 --ntasks=4 --ntasks-per-node=2 --mem=2000M "$@"
}
run ranks "$PLIMSOLL" train a.plim $options --epochs 3 --save-dir four
expect 0 "Epoch 003" "4 ranks"
learns_like one four 4
run plimsoll predict a.plim --checkpoint one/best.pth --split test --out one.npy --quiet
run ranks "$PLIMSOLL" predict a.plim --checkpoint one/best.pth --split test --out four.npy --threads 1
expect 0
predicts_like one.npy four.npy

# A task that dies.
pid_of_rank() { grep -lsz "^SLURM_PROCID=$1\$" /proc/[0-9]*/environ | sed 's|/proc/\([0-9]*\)/.*|\1|' | while read -r pid; do
  [ "$(readlink "/proc/$pid/exe")" = "$PLIMSOLL" ] && tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qxF "$2" && echo "$pid"
done; }
ranks "$PLIMSOLL" train a.plim $options --epochs 100000 --save-dir lost --quiet >output 2>&1 &
step=$!
until_prints "Epoch 001"
kill -KILL "$(pid_of_rank 3 lost)"
code=0
wait $step || code=$?
[ "$code" -ne 0 ] || fail "a step with a killed task succeeded"
grep -qF "rank 3 on " output || fail "nothing names the lost rank"
[ -z "$(pid_of_rank 0 lost)$(pid_of_rank 1 lost)$(pid_of_rank 2 lost)" ] || fail "ranks are left"
[ -s lost/last.pth ] || fail "rank 0 has written no checkpoint"

# Slurm asks all tasks to stop. Resumed, they end with the weights of an undisturbed training.
: >output
ranks "$PLIMSOLL" train a.plim $options --epochs 60 --save-dir stopped --quiet >output 2>&1 &
step=$!
until_prints "Epoch 001"
scancel --signal=USR1 "$(squeue -h -s -o %i | grep -v 'batch\|extern\|interactive' | head -1)"
code=0
wait $step || code=$?
[ "$code" -eq 9 ] || fail "exit code $code after USR1, 9 expected"
run ranks "$PLIMSOLL" train a.plim --resume stopped --threads 1 --quiet
expect 0 "Epoch 060"
run ranks "$PLIMSOLL" train a.plim $options --epochs 60 --save-dir whole --quiet
expect 0 "Epoch 060"
same_tensors whole/last.pth stopped/last.pth

# Slurm suspends the job for longer than a lost rank is silent, and resumes it.
: >output
ranks "$PLIMSOLL" train a.plim $options --epochs 60 --save-dir suspended --quiet >output 2>&1 &
step=$!
until_prints "Epoch 001"
job=$(squeue -h -o %A | head -1)
scontrol suspend "$job" || fail "Slurm does not suspend the job"
wait_until 10 is_in_state "$job" SUSPENDED || fail "the job is $(state "$job")"
sleep 12
scontrol resume "$job"
wait $step || fail "a suspended job failed: $(cat output)"
same_tensors whole/last.pth suspended/last.pth
echo "four tasks on two nodes, a lost one, a stop and a resume, a suspended job"
