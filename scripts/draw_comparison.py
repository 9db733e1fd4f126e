#!/usr/bin/env python3
"""draw_comparison.py [--check]: draws docs/images/comparison.svg, memory and time of an epoch compared with PyG's. The
figures and where they come from are the table below; docs/guides/comparison.md shows the same with the commands. --check fails
if the picture or the page's table is not that of this table."""
import math
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
picture = root / "docs" / "images" / "comparison.svg"
page = root / "docs" / "guides" / "comparison.md"
# Who, on what, GiB, seconds of an epoch, how both are known. None: not known.
SETTINGS = [
    ("gcn, hidden 256, fan-out 15,10, batch 1024, directed edges", [
        ("Plimsoll", "2 CPU cores, --memory 16G", 15.5, 31, "measured [1]"),
        ("PyG", "16 CPU cores", 160, 1222, "memory: formula [2]; time: rate at 1/8 size [3]"),
        ("Plimsoll", "H200, 8 threads, all in RAM", 35, 2.1, "memory: plan [4]; time: rate at 1/16 size [5]"),
        ("PyG", "H200, 8 workers", 160, 41, "memory: formula [2]; time: rate at 1/8 size [3]"),
    ]),
    ("gcn, hidden 16, fan-out 3,2, batch 128, directed edges", [
        ("Plimsoll", "2 CPU cores, --memory 4G", 3.9, 32, "measured [1]"),
        ("Plimsoll", "2 CPU cores, --memory 16G", 15.5, 5, "measured [1]"),
        ("PyG", "16 CPU cores", 160, 59, "memory: formula [2]; time: rate at 1/8 size [3]"),
        ("Plimsoll", "H200, 8 threads, all in RAM", 35, 8.3, "memory: plan [4]; time: rate at 1/16 size [5]"),
        ("PyG", "H200", 160, 44, "memory: formula [2]; time: rate at 1/8 size [3]"),
    ]),
    ("sage, hidden 256, fan-out 10,10,10, batch 1024, undirected edges", [
        ("Plimsoll", "2 CPU cores, --memory 16G", 16, 540, "memory: limit; time: first minutes of an epoch [6]"),
        ("Plimsoll", "H200, 1 thread, --memory 16G", 16, 456, "memory: limit; time: first minutes of an epoch [6]"),
        ("PyG", "one GPU, about 390 GB of RAM", 363, 39.2, "published with PyG's own example [7]"),
    ]),
]
COLOURS = {"Plimsoll": "#0072b2", "PyG": "#d55e00"}  # told apart by everybody, and by their shapes
LEFT, MEMORY, TIME, WIDE, ROW = 285, 320, 300, 980, 22
MOST_GIB, FIRST_S, LAST_S = 400, 1, 2000


def text(x, y, words, size=12, fill="#1f2328", anchor="start", weight="normal"):
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">{words}</text>'


def duration(seconds):
    if seconds >= 300:
        return f"{seconds / 60:.0f} min" if seconds % 60 == 0 else f"{seconds / 60:.1f} min"
    return f"{seconds:g} s"


def time_x(seconds):
    share = math.log(seconds / FIRST_S) / math.log(LAST_S / FIRST_S)
    return LEFT + MEMORY + 40 + share * (TIME - 20)


def draw():
    out = [text(LEFT, 24, "memory, GiB", 13, weight="bold"), text(LEFT + MEMORY + 40, 24, "time of an epoch (logarithmic)", 13, weight="bold")]
    y = 44
    for setting, rows in SETTINGS:
        out.append(text(12, y + 4, f"papers100M, {setting}", 12.5, "#57606a", weight="bold"))
        y += 12
        top = y
        for who, where, gib, seconds, _ in rows:
            middle = y + ROW / 2
            out.append(text(12, middle + 4, who, fill=COLOURS[who], weight="bold"))
            out.append(text(72, middle + 4, where))
            wide = gib / MOST_GIB * (MEMORY - 40)
            out.append(f'<rect x="{LEFT}" y="{middle - 6:.0f}" width="{wide:.1f}" height="12" fill="{COLOURS[who]}"/>')
            out.append(text(LEFT + wide + 5, middle + 4, f"{gib:g}"))
            x = time_x(seconds)
            shape = f'<circle cx="{x:.1f}" cy="{middle:.0f}" r="6"' if who == "Plimsoll" else f'<rect x="{x - 5.5:.1f}" y="{middle - 5.5:.1f}" width="11" height="11"'
            out.append(f'{shape} fill="{COLOURS[who]}"/>')
            out.append(text(x + 11, middle + 4, duration(seconds)))
            y += ROW
        for seconds in (1, 10, 100, 1000):
            out.insert(0, f'<line x1="{time_x(seconds):.1f}" x2="{time_x(seconds):.1f}" y1="{top}" y2="{y}" stroke="#d0d7de"/>')
        out.insert(0, f'<line x1="{LEFT}" x2="{LEFT}" y1="{top}" y2="{y}" stroke="#8c959f"/>')
        y += 20
    for seconds in (1, 10, 100, 1000):
        out.append(text(time_x(seconds), y - 6, f"{seconds} s", 11, "#57606a", "middle"))
    out.append(text(12, y - 6, "shorter bars and points further left are better", 11, "#57606a"))
    y += 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {y}" width="{WIDE}" height="{y}" font-family="sans-serif" role="img">'
    title = "<title>Memory and time of an epoch of papers100M: Plimsoll compared with PyTorch Geometric, in three settings</title>"
    return "\n".join([head, title, f'<rect width="{WIDE}" height="{y}" fill="white"/>', *out, "</svg>"]) + "\n"


def table():
    lines = []
    for setting, rows in SETTINGS:
        lines += [f"### {setting}", "", "| | on | memory, GiB | an epoch | known from |", "|---|---|---|---|---|"]
        lines += [f"| {who} | {where} | {gib:g} | {duration(seconds)} | {source} |" for who, where, gib, seconds, source in rows]
        lines.append("")
    return "\n".join(lines)


def main(check):
    begin, end = "<!-- scripts/draw_comparison.py -->\n", "<!-- end of scripts/draw_comparison.py -->"
    before, rest = page.read_text().split(begin)
    whole = before + begin + "\n" + table() + "\n" + end + rest.split(end)[1]
    if check:
        same = picture.exists() and picture.read_text() == draw() and page.read_text() == whole
        print("the comparison is up to date" if same else "the comparison is out of date: run scripts/draw_comparison.py")
        return 0 if same else 1
    picture.write_text(draw())
    page.write_text(whole)
    return 0


sys.exit(main("--check" in sys.argv))
