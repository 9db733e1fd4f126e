#!/bin/sh
# explain speaks to people who look up an exit code, and knows what a log says.
. "$(dirname "$0")/lib.sh"

run plimsoll explain 137
expect 0 "137 = 128 + 9" "SIGKILL" "the likeliest first" "memory limit" "OOM kill" "try: "
for number in 0 1 2 124 126 127 134 139 141 143; do
  run plimsoll explain "$number"
  expect 0 "$number" "1. "
done
run plimsoll explain 4
expect 0 "plimsoll itself: --memory is too small"
run plimsoll explain 0:9
expect 0 "0:9: the command was ended by SIGKILL"
run plimsoll explain 0:125
expect 0 "Slurm's code for a job that ran out of memory"
run plimsoll explain OUT_OF_MEMORY
expect 0 "OUT_OF_MEMORY: the job ran out of memory" "1. " "--mem" "try: "
for state in BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PENDING PREEMPTED RUNNING REQUEUED \
  RESIZING REVOKED SUSPENDED TIMEOUT; do
  run plimsoll explain $state
  expect 0 "$state: the job" "1. " "try: "
done
run plimsoll explain CANCELLED by 1000
expect 0 "CANCELLED by 1000: the job was cancelled" "scancel"
run plimsoll explain OOM
expect 0 "OOM = OUT_OF_MEMORY: the job ran out of memory"
run plimsoll explain OUT_OF_ME+
expect 0 "OUT_OF_ME+ = OUT_OF_MEMORY"
run plimsoll explain OUT_OF_MEMROY
expect 2 "did you mean OUT_OF_MEMORY?"
run plimsoll explain SIGKIL
expect 2 "did you mean SIGKILL?"
run plimsoll explain -- -9
expect 0 "SIGKILL"
plimsoll explain 137 --json >json
grep -q '"causes": \[' json || fail "no causes in the JSON"

cat >run.log <<'LOG'
epoch 1 loss 0.5
Traceback (most recent call last):
  File "/home/ada/train.py", line 41, in main
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 GiB of which 0.50 GiB is free. Including non-PyTorch memory, this process has 9.20 GiB memory in use.
LOG
run plimsoll explain run.log
expect 0 "✗ GPU out of memory: the command alone needs too much" "it wanted 2.0 GiB more and held 9.2 GiB of 10.0 GiB" "try: --batch-size"
echo "OSError: [Errno 28] No space left on device" >full.log
run plimsoll explain full.log
expect 0 "✗ disk full" "here, now: the disk of this folder has"
echo "epoch 10 accuracy 0.8" >good.log
run plimsoll explain good.log
expect 0 "no known sign of a failure" "epoch 10 accuracy 0.8" "plimsoll explain --last" "plimsoll explain CODE"
: >empty.log
run plimsoll explain empty.log
expect 0 "it is empty"

export XDG_STATE_HOME="$WORK/state"
run plimsoll explain --last
expect 6 "there is no last run"
mkdir -p state/plimsoll
echo '{"command": ["python", "x.py"], "verdict": {"cause": "disk_full", "headline": "disk full after 3 s",
  "evidence": "exit code 1", "next_step": "df -h"}}' >state/plimsoll/last.json
run plimsoll explain --last
expect 0 "python x.py" "✗ disk full after 3 s" "try: df -h" "here, now: the disk"
echo '{}' >state/plimsoll/last.json
run plimsoll explain --last
expect 3 "is not a result of plimsoll exec"

run plimsoll explain
expect 2 "give an exit code, the state of a Slurm job, a log, --job or --last"
run plimsoll explain nonsense
expect 2 "neither a file nor an exit code"
run plimsoll explain 300
expect 2 "300 is not an exit code: those are 0 to 255"
