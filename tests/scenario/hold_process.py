"""Holds all threads of a process but those of the given names, as a debugger does, until the process ends.

hold_process.py PROCESS [NAME...]: prints "held N threads". Exit code 77 where the system does not allow it.
"""
import ctypes
import os
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000  # threads, too
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        print("ptrace:", os.strerror(ctypes.get_errno()))
        sys.exit(77)


process, spared = int(sys.argv[1]), sys.argv[2:]
held = 0
for thread in os.listdir(f"/proc/{process}/task"):
    with open(f"/proc/{process}/task/{thread}/comm") as file:
        if file.read().strip() in spared:
            continue
    ptrace(PTRACE_SEIZE, int(thread))
    ptrace(PTRACE_INTERRUPT, int(thread))
    held += 1
print(f"held {held} threads", flush=True)
# Nobody else can reap a process that is held.
try:
    while True:
        os.waitpid(-1, WALL)
except ChildProcessError:
    pass
