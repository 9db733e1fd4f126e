#!/usr/bin/env python3
"""check_docs.py [FILE.md ...]: checks the Markdown of this tree, or the files named. Prose is at most 110
characters wide, tables render, links resolve (files and headings), every page of docs/ can be reached from
docs/README.md, and README's translation has its commands. Code blocks, tables and lines that are a single
link are exempt from the width. Without names, also checks the width of comments and docstrings in scripts,
Python and CMake; the comments of C++ are clang-format's."""
import ast
import pathlib
import re
import subprocess
import sys

WIDTH = 110
root = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchor(heading):
    """The anchor that a Markdown renderer gives to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def cells(line):
    """How many cells a row of a table has. A bar inside of code counts too, unless it is escaped: that is how
    tables break."""
    return len(re.split(r"(?<!\\)\|", line.strip().strip("|")))


class Page:
    """The lines of a page outside of its code blocks, with their numbers."""

    def __init__(self, path):
        self.path = path
        self.lines = []
        self.unclosed = None
        fence = None
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            mark = re.match(r"\s*(```+|~~~+)", line)
            if fence is None and mark:
                fence, self.unclosed = mark.group(1), number
            elif fence is not None and mark and line.strip() == fence:
                fence, self.unclosed = None, None
            elif fence is None:
                self.lines.append((number, line))
        self.anchors = set()
        for _, line in self.lines:
            heading = re.match(r"#+ (.*)", line)
            if heading:
                self.anchors.add(anchor(heading.group(1)))
            self.anchors.update(re.findall(r'<a (?:name|id)="([^"]+)"', line))


def is_row(line):
    return line.lstrip().startswith("|")


def check_width(page):
    for number, line in page.lines:
        if is_row(line) or line.startswith("<") or re.fullmatch(r"\W*!?\[[^\]]*\]\([^)]*\)\W*", line):
            continue
        if len(line) > WIDTH:
            yield number, f"{len(line)} characters, at most {WIDTH}"


def check_tables(page):
    rows = [(number, line) for number, line in page.lines if is_row(line)]
    tables = []
    for number, line in rows:
        if tables and tables[-1][-1][0] == number - 1:
            tables[-1].append((number, line))
        else:
            tables.append([(number, line)])
    for table in tables:
        first = table[0][0]
        if len(table) < 2 or not re.fullmatch(r"\s*\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?", table[1][1]):
            yield first, "a table without a heading: it has a blank line inside, or no line of dashes"
            continue
        wide = cells(table[0][1])
        for number, line in table:
            if cells(line) != wide:
                yield number, f"{cells(line)} cells in a table of {wide} columns"


def check_links(page, pages):
    for number, line in page.lines:
        line = re.sub(r"`[^`]*`", "", line)
        for target in LINK.findall(line) + re.findall(r'(?:src|srcset|href)="([^"]+)"', line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, heading = target.partition("#")
            path = (page.path.parent / file).resolve() if file else page.path
            if not path.exists():
                yield number, f"{target}: there is no such file"
            elif heading and path.suffix == ".md":
                other = pages.setdefault(path, None) or Page(path)
                if heading not in other.anchors:
                    yield number, f"{target}: there is no such heading"


def linked(page):
    return {(page.path.parent / t.partition("#")[0]).resolve() for _, line in page.lines for t in LINK.findall(line)}


def docstring_lines(text):
    """The numbers of the lines of a Python file that belong to docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None:
            yield from range(node.body[0].lineno, node.body[0].end_lineno + 1)


def check_comments(path):
    """The width of prose in a file of code: lines that are a comment, and docstrings."""
    text = path.read_text(encoding="utf-8")
    prose = set(docstring_lines(text)) if path.suffix == ".py" else set()
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH and (number in prose or line.lstrip().startswith("# ")):
            yield number, f"{len(line)} characters, at most {WIDTH}"


def tracked(*patterns):
    """The files of this tree that git knows, or would add."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", *patterns], capture_output=True, text=True
    )
    return [path for path in map(root.joinpath, listed.stdout.split("\n")[:-1]) if path.exists()]


def code_of(path):
    """The lines of a page's code blocks, without comments."""
    blocks = re.findall(r"^```.*\n(?:.*\n)*?^```$", path.read_text(encoding="utf-8"), re.M)
    return [re.sub(r"\s+# .*", "", line) for block in blocks for line in block.split("\n")]


def check_translation(path, original):
    """A translation has the commands of its original."""
    if code_of(path) != code_of(original):
        lines, others = code_of(path), code_of(original)
        first = next((line for line, other in zip(lines, others) if line != other), "")
        yield 1, f"its code is not that of {original.name}: {first}"


def main(names):
    if names:
        paths = [pathlib.Path(name).resolve() for name in names]
    else:
        paths = tracked("*.md")
        paths = paths or sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")])
    pages = {path: Page(path) for path in paths}
    problems = []
    for path, page in list(pages.items()):
        if page.unclosed:
            problems.append((path, page.unclosed, "a code block that is not closed"))
        for number, problem in [*check_width(page), *check_tables(page), *check_links(page, pages)]:
            problems.append((path, number, problem))
    if not names:
        for path in tracked("*.sh", "*.py", "*.cmake", "Makefile", "*CMakeLists.txt"):
            problems += [(path, number, problem) for number, problem in check_comments(path)]
        translation = root / "README.zh-CN.md"
        problems += [(translation, number, problem) for number, problem in check_translation(translation, root / "README.md")]
        reached = linked(pages[root / "docs" / "README.md"]) | {root / "docs" / "README.md"}
        for path in sorted(set((root / "docs").glob("**/*.md")) - reached):
            problems.append((path, 1, "docs/README.md does not link to this page"))
    for path, number, problem in problems:
        print(f"{path.relative_to(root) if path.is_relative_to(root) else path}:{number}: {problem}")
    print(f"{len(paths)} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
