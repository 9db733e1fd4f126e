#!/usr/bin/env python3
"""Checks every include of src/ against the links that its room declares, and the links against the order of
the rooms: a room knows only rooms before it in PLIMSOLL_ROOMS (CMakeLists.txt); learn and run do not know
each other, and neither do api and cli, run or show. No two rooms have a type of the same name in their
headers. JSON is parsed in base/json.h only, which limits its size and depth; a SAX parser neither recurses
nor keeps values, and may be elsewhere."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
listed = re.search(r"set\(PLIMSOLL_ROOMS(.*?)\)", (root / "CMakeLists.txt").read_text(), re.S)
paths = listed.group(1).split()
rooms = [path.split("/")[-1] for path in paths]
wing_of = {path.split("/")[-1]: path.split("/")[0] for path in paths}
strangers = {("learn", "run"), ("run", "learn"), ("cli", "api"), ("api", "run"), ("api", "show")}
problems = []
declared = {}  # type: where
for path, room in zip(paths, rooms):
    folder = root / "src" / path
    text = (folder / "CMakeLists.txt").read_text()
    links = set(re.findall(r"\bplimsoll_([a-z]+)", text)) & set(rooms)
    for other in links - {room}:
        if rooms.index(other) > rooms.index(room) or (wing_of[room], wing_of[other]) in strangers:
            problems.append(f"{path}/CMakeLists.txt links {other}, which it may not know")
    for file in sorted(folder.glob("*.[hc]*")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if re.search(r"json::(parse|from_\w+)\(|\bJson::parse\(", line, re.I) and file.name != "json.h":
                problems.append(f"src/{path}/{file.name}:{number}: parses JSON without limits; use read_json (base/json.h)")
            found = re.match(r'#include "([a-z_]+)/', line)
            if found and found.group(1) not in links | {room}:
                problems.append(f"src/{path}/{file.name}:{number}: {line.strip()}, and {room} does not link that room")
    for file in sorted(folder.glob("*.h")):
        for name in re.findall(r"^(?:(?:struct|class|enum class) (?=\w+[^;]*\{)|using (?=\w+ =))(\w+)", file.read_text(), re.M):
            if name in declared and declared[name].parent != folder:
                problems.append(f"{name} is declared in {declared[name]} and in {file}")
            declared[name] = file
print("\n".join(problems) or f"{len(rooms)} rooms include what they link")
sys.exit(1 if problems else 0)
