#!/bin/sh
# exec.sh [PLIMSOLL]: what supervising costs: the start of a command, a command that only computes, plimsoll's own memory.
# Bare and supervised runs alternate, so that a busy machine slows both; the median of the starts and the best of the long runs are compared.
set -eu
cd "$(dirname "$0")/.."
plimsoll=$(realpath "${1:-build/release/plimsoll}")
starts=${STARTS:-200}
loops=${LOOPS:-9}
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


def cpu(command):
    """User and system time of the command itself and of all that it waited for."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


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

print(f"a command that computes for seconds, best of {loops} (wall s, CPU s of everything)")
work = [sys.executable, "-c", "x = 0\nfor i in range(40_000_000): x += i"]
for level in levels:
    walls, cpus = {"bare": [], level: []}, {"bare": [], level: []}
    for _ in range(loops):
        for name in walls:
            command = work if name == "bare" else [plimsoll, "exec", "--memory", "1G", "--level", level, "--", *work]
            begin = time.perf_counter()
            cpus[name].append(cpu(command))
            walls[name].append(time.perf_counter() - begin)
    best = {name: min(values) for name, values in walls.items()}
    least = {name: min(values) for name, values in cpus.items()}
    print(f"  {level:8} wall {best['bare']:.3f} -> {best[level]:.3f} ({(best[level] / best['bare'] - 1) * 100:+.2f} %),"
          f" CPU {least['bare']:.3f} -> {least[level]:.3f} ({(least[level] / least['bare'] - 1) * 100:+.2f} %)")

print("plimsoll's own memory, after two seconds (MiB)")
process = subprocess.Popen([plimsoll, "exec", "--memory", "1G", "--log", os.environ["XDG_STATE_HOME"] + "/log", "--", "sleep", "3"],
                           stdout=subprocess.DEVNULL)
time.sleep(2)
total = 0
for name, pid in [("plimsoll", process.pid), ("keeper", int(open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()[0]))]:
    status = open(f"/proc/{pid}/status").read()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    share = int(open(f"/proc/{pid}/smaps_rollup").read().split("Pss:")[1].split()[0]) / 1024
    total += share
    print(f"  {name:8} peak resident {peak:.1f}, its share now {share:.1f}")
print(f"  together {total:.1f}")
process.wait()
END
