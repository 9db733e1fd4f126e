#!/usr/bin/env python3
"""record_terminal.py OUT.svg [--columns N] [--folder DIR] COMMAND ...: runs each command in a terminal of its
own (a pty), and draws what was on its screen at the end. A command is one word for the shell, and is shown
after a prompt. The emulation knows what our programs print: text, new lines, carriage returns, colours,
erasing and moving the cursor up."""
import argparse
import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios
import unicodedata

CELL, LINE, MARGIN = 8.4, 18, 16
COLOURS = {30: "#6e7681", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea", 37: "#e6edf3"}
TEXT, DIM, PROMPT = "#e6edf3", "#8b949e", "#7ee787"


class Screen:
    """Rows of cells, each a character and its style. It grows downwards and never scrolls."""

    def __init__(self, columns):
        self.columns, self.rows, self.row, self.column, self.style = columns, [[]], 0, 0, ("", False, False)

    def put(self, character):
        if unicodedata.combining(character):
            return
        if self.column >= self.columns:
            self.feed()
        line = self.rows[self.row]
        line.extend([(" ", ("", False, False))] * (self.column + 1 - len(line)))
        line[self.column] = (character, self.style)
        self.column += 1

    def feed(self):
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.rows):
            self.rows.append([])

    def style_of(self, codes):
        colour, bold, dim = self.style
        for code in codes or [0]:
            if code == 0:
                colour, bold, dim = "", False, False
            elif code in (1, 2):
                bold, dim = bold or code == 1, dim or code == 2
            elif code == 22:
                bold, dim = False, False
            elif code == 39:
                colour = ""
            elif 30 <= code <= 37 or 90 <= code <= 97:
                colour = COLOURS[code if code < 90 else code - 60]
        self.style = (colour, bold, dim)

    def control(self, codes, final):
        amount = codes[0] if codes and codes[0] else 1
        if final == "m":
            self.style_of(codes)
        elif final == "A":
            self.row = max(0, self.row - amount)
        elif final == "B":
            self.row = min(len(self.rows) - 1, self.row + amount)
        elif final in "CD":
            self.column = max(0, self.column + (amount if final == "C" else -amount))
        elif final == "G":
            self.column = amount - 1
        elif final == "K":
            del self.rows[self.row][0 if codes and codes[0] in (1, 2) else self.column :]
        elif final == "J":
            del self.rows[self.row][self.column :]
            del self.rows[self.row + 1 :]

    def write(self, text):
        for match in re.finditer(r"\x1b\[\??([\d;]*)([A-Za-z])|\x1b[()].|\x1b.|[\s\S]", text):
            part = match.group(0)
            if part.startswith("\x1b["):
                if match.group(2):
                    self.control([int(code or 0) for code in match.group(1).split(";")] if match.group(1) else [], match.group(2))
            elif part == "\n":
                self.feed()
            elif part == "\r":
                self.column = 0
            elif part == "\b":
                self.column = max(0, self.column - 1)
            elif part == "\t":
                self.column += 8 - self.column % 8
            elif part >= " ":
                self.put(part)


def run(command, columns, folder):
    """What the command prints on a terminal."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LC_ALL="C.UTF-8")
        os.environ.pop("NO_COLOR", None)
        os.execvp("bash", ["bash", "-c", command])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    printed = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        printed += part
    os.close(master)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return printed.decode(errors="replace").replace("\r\n", "\n"), code


def draw_row(row, y):
    """One text element, with a span for each style. Cells have fixed places, so that any font lines up."""
    spans, column = [], 0
    while column < len(row):
        end = column
        while end < len(row) and row[end][1] == row[column][1]:
            end += 1
        words = "".join(character for character, _ in row[column:end])
        colour, bold, dim = row[column][1]
        fill = colour or (DIM if dim else TEXT)
        if words.strip():
            weight = ' font-weight="bold"' if bold else ""
            spans.append(f'<tspan x="{MARGIN + column * CELL:.1f}" textLength="{len(words) * CELL:.1f}" fill="{fill}"{weight}>{html.escape(words)}</tspan>')
        column = end
    return f'<text y="{y}" xml:space="preserve">{"".join(spans)}</text>' if spans else ""


def draw(rows, columns, title):
    wide, high = 2 * MARGIN + columns * CELL, 2 * MARGIN + len(rows) * LINE + 18
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}" role="img"'
           ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
           f"<title>{html.escape(title)}</title>", f'<rect width="{wide:.0f}" height="{high}" rx="8" fill="#0d1117"/>']
    out += [f'<circle cx="{MARGIN + 6 + 18 * i}" cy="16" r="5" fill="{fill}"/>' for i, fill in enumerate(["#ff5f56", "#ffbd2e", "#27c93f"])]
    out += [line for line in (draw_row(row, 30 + MARGIN + i * LINE) for i, row in enumerate(rows)) if line]
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("commands", nargs="+", metavar="COMMAND")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    rows = []
    for command in options.commands:
        screen = Screen(options.columns)
        printed, code = run(command, options.columns, options.folder)
        screen.write("\x1b[32m$ \x1b[0m\x1b[1m" + command + "\x1b[0m\n" + printed)
        while screen.rows and not screen.rows[-1]:
            screen.rows.pop()
        rows += screen.rows + [[]]
        print(f"{command}: exit code {code}", file=sys.stderr)
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(draw(rows[:-1], options.columns, "A terminal: " + "; ".join(options.commands)))


main()
