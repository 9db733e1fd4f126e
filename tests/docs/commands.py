#!/usr/bin/env python3
"""commands.py SOURCE PLIMSOLL LIBRARY [FILE.md ...]: runs the commands of README and docs, page by page, in a
scratch folder with small data of the names that the pages use. A block of code says by its first word what it
is:

    sh, bash     commands: run by bash, which must succeed (`exit N` after the word: must end with N)
    console      lines that begin with "$ " are commands; each other line is output: its first word must be
                 printed, in this order (a word that several lines begin with, once)
    python       run where torch is there
    json         must parse
    c            compiled against the library, and run
    text, ...    not run; must not contain commands

`no-test: REASON` after the first word leaves a block unrun; the options of its plimsoll commands are checked
against --help, and so are those in the prose. Trainings are smaller here than on the pages: --scale, --epochs
and --seeds are lowered."""
import ast
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SCALE = "0.0002"  # of papers100M: 22,212 nodes
RUN, QUIET = {"sh", "bash", "console", "python", "c"}, {"text", "make", "csv", "yaml", "diff", "dockerfile", "cmake"}
COMMAND = re.compile(r"^\s*(\$ |(exec plimsoll|cd|make|pip|sudo|apt|apt-get|srun|sbatch|torchrun|cmake|plimsoll) |(bench|scripts|examples)/\S+\.(sh|py))", re.M)


class Block:
    def __init__(self, page, line, info, text):
        self.page, self.line, self.text = page, line, text
        self.language, _, rest = info.strip().partition(" ")
        reason = re.search(r"no-test: (\S.*)", rest)
        code = re.fullmatch(r"exit (\d+)", rest.strip())
        self.reason = reason.group(1) if reason else None
        self.code = int(code.group(1)) if code else 0
        self.problem = None
        if rest.strip() and not reason and not code:
            self.problem = f"unknown words after {self.language}: {rest.strip()}"
        elif self.language == "" and COMMAND.search(text):
            self.problem = "commands in a block without a language: sh, console, or sh no-test: REASON"
        elif self.language not in RUN | QUIET | {"", "json"}:
            self.problem = f"unknown language {self.language}"

    def commands(self):
        if self.language != "console":
            return self.text
        return "\n".join(line[2:] for line in self.text.split("\n") if line.startswith(("$ ", "> ")))

    def expected(self):
        """The first words of the output that a console block shows."""
        lines = [line for line in self.text.split("\n") if line.strip() and not line.startswith(("$ ", "> "))]
        words = [line.split()[0] for line in lines]
        words = [word for word in words if not re.fullmatch(r"[\d.,%/:…×█▏▎▍▌▋▊▉|-]+|\.\.\.", word)]
        return [word for word, before in zip(words, ["", *words]) if word != before]


def blocks_of(page, text):
    found = re.finditer(r"^( *)```(.*)\n((?:.*\n)*?)^\1```$", text, re.M)
    return [Block(page, text.count("\n", 0, m.start()) + 1, m.group(2), re.sub("^" + m.group(1), "", m.group(3), flags=re.M)) for m in found]


class Help:
    """What `plimsoll COMMAND --help` knows."""

    def __init__(self, program):
        self.program, self.texts = program, {}

    def text(self, words):
        if words not in self.texts:
            out = subprocess.run([self.program, *words, "--help"], capture_output=True, text=True)
            self.texts[words] = out.stdout if out.returncode == 0 else None
        return self.texts[words]

    def unknown_options(self, commands):
        """Of every plimsoll command in the text: what its help does not have."""
        commands = re.sub(r"\\\n", " ", commands)
        for match in re.finditer(r"(?:^|[\s`(/])plimsoll ([a-z][\w-]*)([^\n;|&>#`]*)", commands):
            words, rest = (match.group(1),), match.group(2).split(" -- ")[0].split()
            if self.text(words) is None:
                if rest and any(word.startswith("-") for word in rest):
                    yield f"plimsoll {match.group(1)}: there is no such command"
                continue
            if rest and re.search(rf"^  {re.escape(rest[0])}  ", self.text(words), re.M) and self.text((*words, rest[0])):
                words, rest = (*words, rest[0]), rest[1:]
            for word in rest:
                option = re.match(r"--?[a-z][\w-]*", word)
                if option and not re.search(rf"(?<![\w-]){re.escape(option.group(0))}(?![\w-])", self.text(words)):
                    yield f"plimsoll {' '.join(words)} --help does not have {option.group(0)}"


def missing(expected, output):
    """The first expected word that does not begin a line of the output, after the line of the one before
    it."""
    lines = iter([line.split()[0] for line in re.split(r"[\n\r]", output) if line.strip()])
    return next((word for word in expected if not any(word == line for line in lines)), None)


class Runner:
    def __init__(self, source, program, library, work):
        self.source, self.program, self.library, self.work = source, program, library, work
        self.targets = set(re.findall(r"^([a-z][\w-]*):", (source / "Makefile").read_text(), re.M))
        self.help = Help(str(program))
        tools = work / "bin"
        tools.mkdir()
        (tools / "plimsoll").symlink_to(program)
        (tools / "python3").symlink_to("/usr/bin/python3")
        self.environment = dict(os.environ, PATH=f"{tools}:/usr/bin:/bin", PYTHONPATH=str(source / "python"), PLIMSOLL_LIBRARY=str(library),
                                PLIMSOLL_PROGRAM=str(program), PYTHONDONTWRITEBYTECODE="1", NO_COLOR="1")
        self.torch = self.call(["/usr/bin/python3", "-c", "import torch, numpy"], work).returncode == 0
        self.data = work / "data"
        self.data.mkdir()
        synth = f"plimsoll synth papers100M --scale {SCALE} --seed 1 -q"
        self.must(f"{synth} --undirected --out papers.plim && {synth} --format ogb --out papers100M-bin", self.data)

    def call(self, words, folder):
        return subprocess.run(words, cwd=folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, timeout=300, errors="replace")

    def must(self, commands, folder):
        out = self.call(["bash", "-ec", commands], folder)
        if out.returncode != 0:
            sys.exit(f"{commands}: exit code {out.returncode}\n{out.stdout}")

    def scratch(self, page):
        """A folder for the blocks of a page, with the data under the names that pages use."""
        folder = self.work / "pages" / str(page).replace("/", "_")
        folder.mkdir(parents=True)
        (folder / "papers.plim").symlink_to(self.data / "papers.plim")
        shutil.copytree(self.data / "papers100M-bin", folder / "papers100M-bin")
        shutil.copytree(self.source / "examples", folder / "examples")
        return folder

    def run_block(self, block, folder):
        """What is wrong with it, or None."""
        if block.problem:
            return block.problem
        if block.language in ("sh", "bash", "console"):
            unknown = next(self.help.unknown_options(block.commands()), None)
            absent = [name for name in re.findall(r"^(?:sudo )?make ([a-z][\w-]*)", block.commands(), re.M) if name not in self.targets]
            if unknown or absent:
                return unknown or f"Makefile has no target {absent[0]}"
        if block.language == "json" and not block.reason:
            try:
                json.loads(block.text if block.text.lstrip().startswith(("{", "[")) else "{" + block.text + "}")
            except ValueError as error:
                return str(error)
        if block.language == "python":
            try:
                ast.parse(block.text)
            except SyntaxError as error:
                return str(error)
        if block.reason or block.language not in RUN or (block.language == "python" and not self.torch):
            return None
        if block.language == "python":
            out = self.call(["/usr/bin/python3", "-c", block.text], folder)
        elif block.language == "c":
            (folder / "example.c").write_text(block.text)
            compile_it = f"cc -std=c99 -Wall -Werror -I {self.source}/src/api example.c {self.library} -Wl,-rpath,{self.library.parent} -o example"
            out = self.call(["bash", "-ec", f"command -v cc >/dev/null || exit 0; {compile_it} && ./example"], folder)
        else:
            commands = re.sub(r"--scale [\d.]+", f"--scale {SCALE}", block.commands())
            commands = re.sub(r"--(epochs|seeds) ([3-9]|\d\d+)\b", r"--\1 2", commands)
            out = self.call(["bash", "-eo", "pipefail", "-c", commands], folder)
        if out.returncode != block.code:
            return f"exit code {out.returncode}, not {block.code}:\n{block.commands()}\n{out.stdout}"
        absent = missing(block.expected(), out.stdout) if block.language == "console" else None
        return f"no line of the output begins with {absent}:\n{out.stdout}" if absent else None

    def run_page(self, page):
        """Lines of problems, how many blocks ran, and the seconds."""
        start = time.monotonic()
        text = (self.source / page).read_text(encoding="utf-8")
        blocks = blocks_of(page, text)
        folder = self.scratch(page)
        problems, ran = [], 0
        for block in blocks:
            problem = self.run_block(block, folder)
            ran += block.language in RUN and not block.reason
            if problem:
                problems.append(f"{page}:{block.line}: {problem}")
        prose = re.sub(r"^( *)```.*\n(?:.*\n)*?^\1```$", "", text, flags=re.M)
        spans = [re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", prose)]
        problems += [f"{page}: {unknown}" for span in spans for unknown in self.help.unknown_options(span)]
        shutil.rmtree(folder)
        return problems, ran, time.monotonic() - start


def main(source, program, library, pages):
    source = pathlib.Path(source).resolve()
    pages = pages or [str(path.relative_to(source)) for path in sorted([*source.glob("*.md"), *source.glob("docs/**/*.md")])]
    with tempfile.TemporaryDirectory() as work:
        runner = Runner(source, pathlib.Path(program).resolve(), pathlib.Path(library).resolve(), pathlib.Path(work))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(runner.run_page, pages))
    problems = [problem for found, _, _ in results for problem in found]
    for page, (found, ran, seconds) in zip(pages, results):
        print(f"{page}: {ran} blocks run in {seconds:.1f} s, {len(found)} problems")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
