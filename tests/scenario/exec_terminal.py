"""Plays a user at a terminal with a shell in it: exec_terminal.py PLIMSOLL. Exits with 1 where something is
not as it would be without plimsoll."""
import fcntl, os, pty, select, signal, struct, sys, termios, time

PLIMSOLL = sys.argv[1]


class Terminal:
    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ |= {"PS1": "ready> ", "TERM": "xterm"}  # readline marks what it has read
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.resize(24, 80)
        self.seen = ""
        self.expect("ready> ")

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        time.sleep(0.1)  # a shell in the middle of a fork may lose a Ctrl-C, with plimsoll or without
        os.write(self.fd, text.encode())

    def expect(self, text, seconds=8):
        end = time.time() + seconds
        while text not in self.seen:
            if time.time() > end:
                raise SystemExit(f"FAILED: {text!r} did not appear; seen: {self.seen!r}")
            if select.select([self.fd], [], [], 0.1)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        before, self.seen = self.seen.split(text, 1)
        return before

    def run(self, command):
        """Types a command whose words are split by quotes, so that its echo is not taken for its output."""
        self.type(command + "\n")
        self.expect("\x1b[?2004l")  # bash has read it

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


for log in ("", "--log run.log "):
    terminal = Terminal()
    run = f"{PLIMSOLL} exec --grace 0.3s {log}-- "
    terminal.run(run + "sh -c 'test -t 0 && test -t 1 && test -t 2 && echo all-\"\"terminals'")
    terminal.expect("all-terminals")
    terminal.resize(33, 111)
    terminal.run(run + "sh -c 'stty size <&1; echo si\"\"zed'")
    assert "33 111" in terminal.expect("sized"), "the size of the window"
    terminal.run(run + "sh -c 'read x; echo got-\"\"$x'")
    time.sleep(0.3)
    terminal.type("hello\n")
    terminal.expect("got-hello")

    # Ctrl-C: the command gets it once, and the shell sees 130.
    terminal.run(run + "sh -c 'echo run\"\"ning; sleep 30'")
    terminal.expect("running")
    terminal.type("\x03")
    terminal.expect("ready> ")
    terminal.run("echo code-\"\"$?")
    terminal.expect("code-130")
    terminal.run(run + "sh -c 'n=0; trap \"n=\\$((n+1))\" INT; echo run\"\"ning; while [ $n -lt 1 ]; do sleep 0.1; done;"
                 " sleep 0.3; echo times-\"\"$n; exit 3'; echo code-\"\"$?")
    terminal.expect("running")
    terminal.type("\x03")
    terminal.expect("times-1")
    terminal.expect("code-3")
    # A loop ends at Ctrl-C.
    terminal.run(f"for i in 1 2 3; do {run} sleep 30; done; echo loop-\"\"over")
    time.sleep(0.5)
    terminal.type("\x03")
    time.sleep(0.3)
    terminal.run("echo still-\"\"here")
    assert "loop-over" not in terminal.expect("still-here")

    # Ctrl-Z stops it, fg goes on.
    terminal.run(run + "sh -c 'echo run\"\"ning; i=0; while [ $i -lt 20 ]; do i=$((i+1)); sleep 0.1; done; echo went-\"\"on'")
    terminal.expect("running")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    time.sleep(2.2)
    terminal.run("echo be\"\"tween; fg")
    assert "went-on" not in terminal.expect("between"), "it went on while it was stopped"
    terminal.expect("went-on")

    # One that is killed in raw mode leaves a usable terminal.
    terminal.run(run + "sh -c 'stty raw -echo; echo run\"\"ning; kill -KILL $$'; stty -a | grep -o ' icano[n]'")
    terminal.expect("running")
    terminal.expect(" icanon")

    # The terminal closes.
    terminal.run(run + "unruly family")
    time.sleep(0.5)
    terminal.close()
    print("with a log" if log else "without a log", "as if bare")
