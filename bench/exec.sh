#!/bin/sh
# exec.sh [PLIMSOLL]: what supervising costs: the start of a command, a command that only computes, plimsoll's
# own memory. Bare and supervised starts alternate. On a machine that others use, `chrt -f 50 bench/exec.sh`
# measures the program, not the queue for a CPU.
set -eu
cd "$(dirname "$0")/.."
plimsoll=$(realpath "${1:-build/release/plimsoll}")
starts=${STARTS:-200}
loops=${SECONDS_EACH:-8}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work"
python3 - "$plimsoll" "$starts" "$loops" <<'END'
import os, statistics, subprocess, sys, time

plimsoll, starts, loops = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
levels = [level for level in ("cgroup2", "freezer", "pidns", "sweep")
          if subprocess.run([plimsoll, "exec", "--level", level, "--", "true"], stderr=subprocess.DEVNULL).returncode == 0]


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def cpu_seconds(pid):
    return int(open(f"/proc/{pid}/schedstat").read().split()[0]) / 1e9


def figure(pid, file, key):
    return int(open(f"/proc/{pid}/{file}").read().split(key)[1].split()[0]) / 1024


print(f"start of `true`, median of {starts} (ms)")
times = {name: [] for name in ["bare", *levels]}
for _ in range(starts):
    times["bare"].append(seconds(["true"]))
    for level in levels:
        times[level].append(seconds([plimsoll, "exec", "--level", level, "--", "true"]))
bare = statistics.median(times["bare"]) * 1e3
print(f"  bare     {bare:6.2f}")
for level in levels:
    median = statistics.median(times[level]) * 1e3
    print(f"  {level:8} {median:6.2f}  (+{median - bare:.2f})")

print(f"while a command computes for {loops} s: CPU that plimsoll and keeper use, and their memory (MiB)")
for level in levels:
    for limit in ([], ["--memory", "1G"]):
        process = subprocess.Popen([plimsoll, "exec", "-q", "--level", level, *limit, "--timeout", f"{loops + 5}s", "--grace", "0",
                                    "--", sys.executable, "-c", "while True: pass"])
        time.sleep(1)
        both = (process.pid, int(open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()[0]))
        before, begin = sum(map(cpu_seconds, both)), time.perf_counter()
        time.sleep(loops)
        share = (sum(map(cpu_seconds, both)) - before) / (time.perf_counter() - begin)
        print(f"  {level:8} {' '.join(limit):12} {share * 100:.3f} % of one CPU; peak resident"
              f" {sum(figure(pid, 'status', 'VmHWM:') for pid in both):.1f}, their share"
              f" {sum(figure(pid, 'smaps_rollup', 'Pss:') for pid in both):.1f}")
        process.terminate()
        process.wait()
END
