#!/usr/bin/env python3
"""draw_rooms.py [--check]: draws docs/images/rooms.svg, the rooms and what each links. A line is left out
where another path says the same. --check fails if the picture in docs/images/ is not the one of this tree."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
listed = re.search(r"set\(PLIMSOLL_ROOMS(.*?)\)", (root / "CMakeLists.txt").read_text(), re.S)
paths = listed.group(1).split()
rooms = [path.split("/")[-1] for path in paths]
links = {}
for path, room in zip(paths, rooms):
    text = (root / "src" / path / "CMakeLists.txt").read_text()
    links[room] = (set(re.findall(r"\bplimsoll_([a-z]+)", text)) & set(rooms)) - {room}


def reached(room):
    return links[room].union(*(reached(other) for other in links[room]))


shown = {room: {o for o in links[room] if not any(o in reached(p) for p in links[room] - {o})} for room in rooms}

# How deep a room lies within its wing decides its row; wings stand in bands, some of them side by side.
WIDTH, HEIGHT, BOX, STEP = 960, 0, (96, 26), (116, 46)
wings = {}
for path, room in zip(paths, rooms):
    wings.setdefault(path.split("/")[0], []).append(room)


def depth(room, wing):
    below = [depth(other, wing) for other in links[room] if other in wing]
    return 1 + max(below) if below else 0


def place(wing, left, right, top):
    """Gives each room of a wing its centre; returns the height of the band."""
    rows = {}
    for room in wings[wing]:
        rows.setdefault(depth(room, wings[wing]), []).append(room)
    height = len(rows) * STEP[1]
    for row, members in rows.items():
        for i, room in enumerate(members):
            x = left + (right - left) * (i + 1) / (len(members) + 1)
            centres[room] = (x, top + height - STEP[1] * (row + 0.5))
    bands.append((wing, left, top, right - left, height))
    return height


centres, bands = {}, []
y = 30 + max(place("api", 10, WIDTH / 2 - 5, 10), place("cli", WIDTH / 2 + 5, WIDTH - 10, 10))
y += 20 + place("show", 10, WIDTH - 10, y)
y += 20 + max(place("learn", 10, WIDTH / 2 - 5, y), place("run", WIDTH / 2 + 5, WIDTH - 10, y))
y += 20 + place("store", 10, WIDTH - 10, y)
y += 10 + place("core", 10, WIDTH - 10, y)
out = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}" font-family="sans-serif" font-size="13">',
    "<title>The rooms of src/ and what each links</title>",
    f'<rect width="{WIDTH}" height="{y:.0f}" fill="white"/>',
]
for wing, left, top, width, height in bands:
    out.append(f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="8" fill="#f0f3f6"/>')
    out.append(f'<text x="{left + 10:.0f}" y="{top + 18:.0f}" fill="#57606a">src/{wing}</text>')
for room in rooms:
    for other in sorted(shown[room]):
        (x1, y1), (x2, y2) = centres[room], centres[other]
        y1, y2 = y1 + BOX[1] / 2, y2 - BOX[1] / 2
        bend = (y2 - y1) / 2
        out.append(
            f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"'
            ' fill="none" stroke="#8c959f"/>'
        )
for room, (x, top) in centres.items():
    left, up = x - BOX[0] / 2, top - BOX[1] / 2
    box = f'<rect x="{left:.0f}" y="{up:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="5"'
    out.append(box + ' fill="white" stroke="#0969da"/>')
    out.append(f'<text x="{x:.0f}" y="{top + 5:.0f}" text-anchor="middle" fill="#1f2328">{room}</text>')
picture = "\n".join(out + ["</svg>"]) + "\n"
target = root / "docs" / "images" / "rooms.svg"
if "--check" in sys.argv:
    same = target.exists() and target.read_text() == picture
    print("the picture of the rooms is up to date" if same else "docs/images/rooms.svg is of another tree: run scripts/draw_rooms.py")
    sys.exit(0 if same else 1)
target.write_text(picture)
