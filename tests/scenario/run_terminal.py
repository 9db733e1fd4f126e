"""Watches a batch at a terminal: run_terminal.py PLIMSOLL, in a folder with settings of three `chatty`
trainings. Exits with 1 where the live lines are not what they should be."""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time

COLUMNS = 60


class Screen:
    """What is on a terminal, as far as live lines need it: new lines, the cursor going up, and all below
    erased."""

    def __init__(self):
        self.lines, self.row = [""], 0

    def feed(self, text):
        for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self.row += 1
                while len(self.lines) <= self.row:
                    self.lines.append("")
            elif part == "\r":
                continue  # every line begins at its beginning
            elif part.startswith("\x1b["):
                if part[-1] == "A":
                    self.row -= int(part[2:-1])
                elif part[-1] == "J":
                    del self.lines[self.row:]
                    self.lines.append("")
                else:
                    raise SystemExit(f"FAILED: {part!r} came through")
            else:
                started = "run folder: " in self.text()  # the lines of the plan come before it
                live = started and part.startswith(("toy_", "  "))
                assert not live or len(part) < COLUMNS, f"a live line of {len(part)} columns: {part!r}"
                self.lines[self.row] += part

    def text(self):
        return "\n".join(self.lines)


def wait_for(what, seconds=10):
    """`what`: a text, or a pattern of a time that depends on the machine."""
    end = time.time() + seconds
    while not (what.search(screen.text()) if isinstance(what, re.Pattern) else what in screen.text()):
        if time.time() > end:
            raise SystemExit(f"FAILED: {what!r} did not appear on\n{screen.text()}")
        if select.select([fd], [], [], 0.1)[0]:
            try:
                screen.feed(os.read(fd, 65536).decode())
            except OSError:  # it has ended
                raise SystemExit(f"FAILED: {what!r} did not appear before the end of\n{screen.text()}")


OF_ABOUT = re.compile(r" of about [0-9.]+ s \| ")
screen = Screen()
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # shells let what runs in the background ignore it
    time.sleep(0.2)  # until the window has its size
    os.execv(sys.argv[1], ["plimsoll", "run", "-ec", "settings.json"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))

wait_for("toy_chatty_001 | ")
wait_for("  > epoch 2\n")  # the last state of its bar, without its colour
wait_for("RAM ")
if os.environ.get("PLIMSOLL_NVML"):
    wait_for("GPU 0 5.9 GiB of 9.8 GiB 42 %")
wait_for("0 succeeded, 0 failed, 3 left; time left: unknown")
wait_for("[1/3] toy_chatty_001 succeeded")
wait_for("toy_chatty_002 | ")
wait_for(OF_ABOUT)
wait_for("1 succeeded, 0 failed, 2 left; time left: about ")
for once in ("run folder: ", "toy_chatty_001 succeeded", "RAM ", " left; "):
    assert screen.text().count(once) == 1, f"{once!r} is there more than once:\n{screen.text()}"

# The same from another terminal, which is a pipe.
run = re.search(r"run folder: (\S+)", screen.text()).group(1)
said = subprocess.run([sys.argv[1], "status", run], capture_output=True, text=True, check=True).stdout
for part in (run + ": running", "toy_chatty_002 | ", "  > epoch 2\n", "RAM ", "1 succeeded, 0 failed, 2 left; time left: about "):
    assert part in said, f"status does not say {part!r}:\n{said}"
assert OF_ABOUT.search(said), f"status does not say what it takes:\n{said}"

os.write(fd, b"\x03")  # Ctrl-C: the training is not told
wait_for("stopping when this attempt has ended; Ctrl-C again stops it now")
wait_for("[2/3] toy_chatty_002 succeeded")
wait_for("2 succeeded, 0 failed, 1 left: ")
wait_for("plimsoll run --resume ")
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
