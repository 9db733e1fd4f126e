#!/bin/sh
# The GPU's energy counter against the integral of its sampled power, on a real GPU: a short batch whose
# training keeps the GPU busy with matrix products, and what `plimsoll run` measured of it.
#   bench/gpu_energy.sh build/release/plimsoll [SECONDS] [REPEATS] [GPU]      20 s, 3 times, GPU 0
# Needs python3; with torch and CUDA the GPU is busy, without them it stays idle, which is compared all the
# same.
set -eu
[ $# -gt 0 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
plimsoll=$(realpath "$1")
seconds=${2:-20}
repeats=${3:-3}
gpu=${4:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_STATE_HOME="$work/state"
"$plimsoll" doctor 2>&1 | grep -i "gpu\|energy\|nvidia" || true
mkdir busy
cat >busy/train.py <<'END'
import sys, time
seconds = float(sys.argv[1])
try:
    import torch
    cuda = torch.cuda.is_available()
except ImportError:
    cuda = False
if not cuda:
    print("no torch with CUDA: the GPU stays idle")
    time.sleep(seconds)
else:
    print(torch.cuda.get_device_name(0), torch.__version__)
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    began = time.monotonic()
    products = 0
    while time.monotonic() - began < seconds:
        for _ in range(20):
            c = a @ b
        torch.cuda.synchronize()
        products += 20
    print("%.1f products a second" % (products / (time.monotonic() - began)))
print("done: 1")
END
printf '#!/bin/sh\nexec python3 train.py "$@"\n' >busy/train.sh
chmod +x busy/train.sh
cat >models_config.json <<END
{"models": {"busy": {"path": "busy", "train_script": "./train.sh", "models": ["default"], "supported_hyperparams": {},
  "required_args": {"seconds": "$seconds"}, "performance_metrics": {"log_patterns": {"done": "done: ([0-9]+)"}}}}}
END
printf '{"experiments": [{"repo": "busy", "model": "default", "mode": "default", "runs_per_config": %s}]}\n' "$repeats" >settings.json
code=0
"$plimsoll" run -ec settings.json --results results --gpu "$gpu" --idle-baseline 10s || code=$?
[ "$code" -eq 0 ] || echo "plimsoll run ended with $code"
run=$(find results -maxdepth 1 -name 'run_*' | sort | tail -n 1)
[ -n "$run" ] || { echo "there is no run to look at"; exit 1; }
cat "$run"/busy_default_001/training.log 2>/dev/null || true
"$plimsoll" results "$run" || true
cat "$run/idle_baseline.json" 2>/dev/null || true
python3 - "$run" <<'END'
import glob, json, statistics, sys

def text(number, form="%.1f"):
    return "-" if number is None else form % number

def spread(name, numbers):
    numbers = [number for number in numbers if number is not None]
    mean = statistics.mean(numbers) if numbers else 0
    if len(numbers) > 1 and mean != 0:
        print("%-16s mean %.2f, coefficient of variation %.2f %%" % (name, mean, 100 * statistics.stdev(numbers) / abs(mean)))

print("run  gpu  seconds  counter J  integral J  difference  coverage  samples/s  mean W  max W  net J  quality    CPU J  CPU source  sampling")
series = {}
for number, file in enumerate(sorted(glob.glob(sys.argv[1] + "/*/experiment.json")), 1):
    metrics = json.load(open(file))["energy_metrics"]
    details = metrics.get("details")
    if details is None:
        print(number, metrics)
        continue
    seconds = details["seconds"]
    cpu = details["cpu"]["total"]
    for gpu in details["gpus"]:
        counter, integral = gpu["counter"]["joules"], gpu["integral"]["joules"]
        differ = None if not counter or integral is None else 100 * (integral / counter - 1)
        watts = gpu["power_watts"]
        print("%3d  %3d  %7.2f  %9s  %10s  %8s %%  %8s  %9.1f  %6s  %5s  %5s  %-9s  %5s  %-10s  %.3f %% of a CPU" % (
            number, gpu["index"], seconds, text(counter), text(integral), text(differ, "%+.2f"),
            text(gpu["integral"]["coverage"], "%.4f"), gpu["samples"] / seconds if seconds else 0, text(watts["mean"]),
            text(watts["max"]), text(gpu["energy"]["net_joules"]), gpu["energy"]["quality"], text(cpu["joules"]),
            cpu["source"] or "none", 100 * details["sampling_cpu_seconds"] / seconds if seconds else 0))
        for name, number_ in (("counter J", counter), ("integral J", integral), ("mean W", watts["mean"]),
                              ("net J", gpu["energy"]["net_joules"])):
            series.setdefault("GPU %d %s" % (gpu["index"], name), []).append(number_)
        for name in ("counter", "integral"):
            if gpu[name].get("reason"):
                print("     %s: %s" % (name, gpu[name]["reason"]))
    if cpu.get("reason"):
        print("     CPU: %s" % cpu["reason"])
    if not details["gpus"]:
        print("%3d  no GPU: %s" % (number, details.get("no_gpus_because", "")))
for name, numbers in series.items():
    spread(name, numbers)
END
