#!/usr/bin/env python3
"""Checks the four walks of architecture.md against the tree: every function that a step names must exist, in
the file that follows it if there is one, and every file that the page names must exist."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
page = next((root / "docs").rglob("architecture.md"))
text = page.read_text()


def find(name):
    """A file of the page: relative to its wing, or to src/ in the wings api and cli."""
    found = [path for path in (root / "src").glob("*/" + name)] + [root / "src" / name]
    return next((path for path in found if path.exists()), None)


problems = []
for name in sorted(set(re.findall(r"\b[a-z]+/[a-z_]+\.(?:cc|h)\b", text))):
    if find(name) is None:
        problems.append(f"{page.name} names {name}, which does not exist")
everything = "".join(path.read_text() for path in (root / "src").rglob("*.[hc]*") if path.suffix in (".h", ".cc"))
checked = 0
for step in re.findall(r"^\d+\. .*?(?=^\d+\. |^\n|\Z)", text.split("## Four walks")[1], re.M | re.S):
    last = ""
    # `function` (file.cc): the function is in that file or in its header. A name without a file is somewhere
    # in src/.
    for word, files in re.findall(r"`([A-Za-z_:]+)(?:\(\))?`|\(([a-z]+/[a-z_]+\.(?:cc|h)[^)]*)\)", step):
        if word:
            last = word.split("::")[-1]
            checked += 1
            if not re.search(rf"\b{last}\b", everything):
                problems.append(f"{page.name}: {word} does not exist")
            continue
        paths = [find(name) for name in re.findall(r"[a-z]+/[a-z_]+\.(?:cc|h)", files)]
        beside = [path.with_suffix(suffix) for path in paths if path for suffix in (".h", ".cc")]
        content = "".join(path.read_text() for path in beside if path.exists())
        if last and not re.search(rf"\b{last}\b", content):
            problems.append(f"{page.name}: {last} is not in {files}")
        last = ""
print("\n".join(problems) or f"{checked} names of the walks are where the page says")
sys.exit(1 if problems else 0)
