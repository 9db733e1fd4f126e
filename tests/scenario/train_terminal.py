"""train_terminal.py PLIMSOLL STORE: watches trainings at real terminals of several widths and kinds. Exits
with 1 where what is left on the screen is not what it should be."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios

PLIMSOLL, STORE = sys.argv[1:]
EPOCHS = 3


class Screen:
    """The lines of a terminal, with the line that is drawn again in place. Notes how wide it was."""

    def __init__(self):
        self.lines, self.line, self.column = [], "", 0
        self.drawn = []  # every state of a line before it was erased or ended

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self.drawn.append(self.line)
                self.lines.append(self.line)
                self.line, self.column = "", 0
            elif part == "\r":
                self.column = 0
            elif part == "\x1b[K":
                self.drawn.append(self.line[:self.column])
                self.line = self.line[:self.column]
            elif part.startswith("\x1b"):
                fail(f"an escape that nobody expects: {part!r}")
            else:
                self.line = self.line[:self.column] + part + self.line[self.column + len(part):]
                self.column += len(part)


def fail(text):
    raise SystemExit(f"FAILED: {text}")


def at_terminal(columns, words, **variables):
    """The bytes that a terminal of this width gets from a training."""
    pid, fd = pty.fork()
    if pid == 0:
        sys.stdin.readline()  # until the window has its size
        os.environ.pop("COLUMNS", None)
        os.environ.update({"TERM": "xterm", **variables})
        os.execv(PLIMSOLL, ["plimsoll", "train", STORE, "--epochs", str(EPOCHS), "--force", *words])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    attributes = termios.tcgetattr(fd)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, attributes)
    os.write(fd, b"\n")
    data = b""
    while True:
        try:
            piece = os.read(fd, 65536) if select.select([fd], [], [], 300)[0] else b""
        except OSError:
            piece = b""
        if not piece:
            break
        data += piece
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        fail(f"exit code {code}: {data.decode(errors='replace')}")
    return data


OPTIONS = ["--hidden", "32", "--fanout", "10,10", "--device", "cpu", "--save-dir"]


def watched(columns, folder, bar, **variables):
    """The screen after a training, and its bytes. Smaller batches make it slower until it draws such a bar: a
    fast machine ends an epoch before a bar is drawn again."""
    for batch in ("16", "4", "1"):
        data = at_terminal(columns, [*OPTIONS, folder, "--batch-size", batch], **variables)
        screen = Screen()
        screen.feed(data.decode())
        if any(re.search(bar, line) for line in screen.drawn):
            return screen, data
    fail(f"no bar {bar!r} at {columns} columns: {screen.drawn}")


WHOLE_BAR = {40: "^Epoch 2/3: .*left", 80: "^Epoch 2/3: .*left", 200: r"█.*it/s, loss=.*, run \d+:\d+ left"}
for columns in (40, 80, 200):
    screen, _ = watched(columns, f"at{columns}", WHOLE_BAR[columns], LC_ALL="C.UTF-8")
    bars = [line for line in screen.drawn if re.match(r"Epoch \d/3( eval)?: ", line)]
    if not bars:
        fail(f"no bar at {columns} columns: {screen.drawn}")
    for bar in bars:
        if len(bar) >= columns:
            fail(f"a bar of {len(bar)} in {columns} columns: {bar!r}")
    if not any("left" in bar for bar in bars):
        fail(f"no time left at {columns} columns: {bars}")
    if not any(" eval: " in bar for bar in bars):
        fail(f"the evaluation is not in the same place: {bars}")
    left = [line for line in screen.lines if re.search(r"it/s|\d%\||left$", line)]
    if left or screen.line:
        fail(f"a bar stays: {left} {screen.line!r}")
    epochs = [line for line in screen.lines if line.startswith("Epoch 00")]
    if len(epochs) != EPOCHS or not epochs[0].endswith(" *"):
        fail(f"not a line an epoch, the first with its mark: {epochs}")
    if any(len(line) > columns for line in epochs):
        fail(f"wider than {columns}: {epochs}")
    if not any(line.startswith("learned   accuracy: ") for line in screen.lines):
        fail(f"no closing words: {screen.lines}")

_, ascii_only = watched(80, "ascii", "#.*it/s", LC_ALL="C")
if any(byte > 127 for byte in ascii_only):
    fail(f"more than ASCII: {ascii_only}")

dumb = at_terminal(80, [*OPTIONS, "dumb", "--batch-size", "16"], TERM="dumb")
if b"\x1b" in dumb or b"it/s" in dumb:
    fail(f"a dumb terminal gets bars: {dumb}")

if re.search(rb"\x1b\[[0-9;]*m", at_terminal(80, [*OPTIONS, "plain", "--batch-size", "16"], NO_COLOR="1")):
    fail("colours in spite of NO_COLOR")

quiet = at_terminal(80, [*OPTIONS, "quiet", "--batch-size", "16", "-q"]).decode().splitlines()
if len(quiet) != EPOCHS or not all(line.startswith("Epoch 00") for line in quiet):
    fail(f"-q prints more than a line an epoch: {quiet}")
