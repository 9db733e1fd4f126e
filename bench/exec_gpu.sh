#!/bin/sh
# bench/exec_gpu.sh [PLIMSOLL] [GIB]: what exec, orphans and the GPU gate do on a real GPU, about two minutes.
# GIB (default 100) of GPU 0 are held by a worker that outlives its parent, and by a leftover of a run of
# ours; more than that is asked for. Needs python3 with torch and CUDA.
set -u
plimsoll=$(realpath "${1:-build/release/plimsoll}")
held=${2:-100}
python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null || { echo "no python3 whose torch sees a GPU" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_STATE_HOME="$work/state"
all=$(python3 -c 'import torch; print(int(torch.cuda.mem_get_info()[1] / 2**30))')
wanted=$((all - held + 20))
cat >loader.py <<'END'
import os, signal, sys, time
pid = os.fork()  # as a DataLoader's worker, but it is the one that holds the memory
if pid == 0:
    if len(sys.argv) > 3:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
    import torch
    x = torch.empty(int(float(sys.argv[1]) * 2**30), dtype=torch.uint8, device="cuda")
    print("holds it", flush=True)
    time.sleep(float(sys.argv[2]))
    os._exit(0)
os.waitpid(pid, 0)
END
ask() { echo "import torch; x = torch.empty($1 * 2**30, dtype=torch.uint8, device='cuda')"; }
holds() {
  tries=0
  until grep -q holds "$1" 2>/dev/null || [ $tries -ge 200 ]; do sleep 0.2; tries=$((tries + 1)); done
}

echo "== a worker outlives its killed parent: named, and not touched"
python3 loader.py "$held" 45 >one 2>&1 &
parent=$!
holds one
kill -KILL $parent
wait $parent 2>/dev/null
"$plimsoll" exec --gpu 0 --gpu-free "${wanted}G" --gpu-wait 2s -- true
echo "exit code $? (125 expected)"
"$plimsoll" exec --gpu 0 --log neighbour.log -- python3 -c "$(ask "$wanted")" >/dev/null
echo "exit code $? beside it, without the gate"
"$plimsoll" exec --gpu 0 --gpu-free "${wanted}G" --gpu-wait 80s -- python3 -c 'import torch; print("%.0f GiB free" % (torch.cuda.mem_get_info()[0] / 2**30))'
echo "exit code $? (0 expected, when the worker has gone)"

echo "== a leftover of ours: plimsoll and keeper killed at once, the worker deaf to SIGTERM"
"$plimsoll" exec --level sweep --log two -- python3 loader.py "$held" 60 deaf >/dev/null 2>&1 &
run=$!
holds two
kill -KILL $run $(pgrep -P $run)
wait $run 2>/dev/null
sleep 0.5
"$plimsoll" orphans
"$plimsoll" exec --gpu 0 --gpu-free "${wanted}G" --gpu-wait 30s -- true
echo "exit code $? (0 expected)"
"$plimsoll" orphans

echo "== too large by itself"
"$plimsoll" exec --gpu 0 --log own.log -- python3 -c "$(ask $((all + 60)))" >/dev/null
echo "exit code $?"

echo "== --idle-timeout 4s: a busy GPU is no hang, an idle one is"
"$plimsoll" exec --gpu 0 --idle-timeout 4s -- python3 -c '
import time, torch
a, began = torch.randn(8192, 8192, device="cuda"), time.time()
while time.time() - began < 9: a = (a @ a).tanh_()
torch.cuda.synchronize()'
echo "exit code $? (0 expected)"
"$plimsoll" exec --gpu 0 --idle-timeout 4s --log idle.log -q -- python3 -c 'import time, torch; x = torch.ones(1, device="cuda"); time.sleep(30)' >/dev/null
echo "exit code $? (121 expected)"
