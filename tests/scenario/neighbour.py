"""A process that takes memory that another one has, measures how fast it gets it, and holds it until SIGTERM.

neighbour.py GROUP BURSTS: the cgroup GROUP has a limit. All that is to spare but 40 MiB is taken at once,
then BURSTS times 24 MiB. After each burst it waits until there is as much to spare as before. Prints the
longest of these waits in milliseconds, or "never" where one took more than five seconds.
"""
import signal
import sys
import time

MIB = 1 << 20
KEPT = 40 * MIB
BURST = 24 * MIB
ENOUGH = 28 * MIB  # for another burst

group, bursts = sys.argv[1], int(sys.argv[2])


def number(name):
    with open(f"{group}/{name}") as file:
        return int(file.read())


# What the kernel can still hand out: pages of files are dropped when they are in the way.
def spare():
    with open(f"{group}/memory.stat") as file:
        stat = dict(line.split() for line in file)
    if "total_rss" in stat:  # cgroup v1
        left = number("memory.limit_in_bytes") - number("memory.usage_in_bytes")
        return left + int(stat["total_inactive_file"]) + int(stat["total_active_file"])
    left = number("memory.max") - number("memory.current")
    return left + int(stat["inactive_file"]) + int(stat["active_file"])


def take(count):
    block = bytearray(count)
    for page in range(0, count, 4096):
        block[page] = 1
    return block


# Seconds until there is enough for another burst, or nothing.
def wait():
    start = time.monotonic()
    while spare() < ENOUGH:
        if time.monotonic() > start + 5:
            return None
        time.sleep(0.005)
    return time.monotonic() - start


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with open("/proc/self/oom_score_adj", "w") as file:
    file.write("1000")  # if one of the two must die, then this one
held = [take(max(0, spare() - KEPT))]
waits = [wait()]
while waits[-1] is not None and len(waits) <= bursts:
    held.append(take(BURST))
    waits.append(wait())
print("longest wait", "never" if None in waits else round(max(waits) * 1000), flush=True)
while True:
    signal.pause()
