#!/usr/bin/env python3
"""make_options.py PLIMSOLL [--check]: writes docs/reference/options.md, the help of every command of the
program. --check fails if the page is not that of the program. Defaults that depend on the machine are written
as words."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
target = root / "docs" / "reference" / "options.md"
HEAD = """# Options

All commands with all their options: what `plimsoll COMMAND --help` prints. `scripts/make_options.py`
writes this page.
"""


def help_of(program, command):
    out = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True, env={"COLUMNS": "100"})
    text = re.sub(r"(--threads N +number of threads) \[default: \d+\]", r"\1 [default: all CPUs of this process]", out.stdout)
    return text.strip("\n")


def commands_in(text):
    """The commands that a help lists under the heading Commands."""
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
    return re.findall(r"^  (\w[\w-]*)", listed.group(1), re.M) if listed else []


def sections(program, command):
    text = help_of(program, command)
    yield command, text
    for name in commands_in(text):
        yield from sections(program, [*command, name])


def main(program, check):
    page = HEAD
    for command, text in sections(program, []):
        page += f"\n## {' '.join(['plimsoll', *command])}\n\n```text\n{text}\n```\n"
    if check:
        same = target.exists() and target.read_text() == page
        print("docs/reference/options.md is up to date" if same else "docs/reference/options.md is of another program: run scripts/make_options.py PLIMSOLL")
        return 0 if same else 1
    target.write_text(page)
    return 0


sys.exit(main(sys.argv[1], "--check" in sys.argv))
