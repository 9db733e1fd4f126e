#!/usr/bin/env python3
"""make_man.py PROGRAM FOLDER: writes a manual page for each command of the program into FOLDER (plimsoll.1,
plimsoll-import-ogb.1, …), made from what its --help prints."""
import pathlib
import re
import subprocess
import sys

LAST_SECTION = "Help"  # of the options; what follows is the footer


def ask(program, words):
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def roff(text):
    """Text that roff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def entries(lines):
    """(left, text) of the lines of a section: two spaces, a name, and the text beside or below it."""
    found = []
    for line in lines:
        if re.match(r"  \S", line):
            left, _, text = line.strip().partition("  ")
            found.append([left, [text.strip()] if text.strip() else []])
        elif line.strip():
            found[-1][1].append(line.strip())
    return [(left, " ".join(text)) for left, text in found]


def parse(text):
    """The parts of a help text: usage, description, sections with their entries, and the footer."""
    head, _, rest = text.partition("\n\n")
    blocks = rest.rstrip("\n").split("\n\n")
    description, sections = blocks.pop(0), []
    while blocks:
        title, *lines = blocks.pop(0).split("\n")
        sections.append((title.rstrip(":"), entries(lines)))
        if sections[-1][0] == LAST_SECTION:
            break
    return head.replace("Usage: ", ""), " ".join(description.split()), sections, blocks


def footer(blocks):
    """Paragraphs of the footer. A line that ends with a colon before indented lines is a heading."""
    for block in blocks:
        lines = block.split("\n")
        heading = re.fullmatch(r"(Examples?|Exit codes):", lines[0])
        if heading:
            yield f".SH {heading.group(1).upper()}"
            lines = lines[1:]
        else:
            yield ".PP"
        yield from [".nf", roff("\n".join(lines)), ".fi"]


def page(words, text, version, others):
    usage, description, sections, blocks = parse(text)
    name = "-".join(words)
    out = [f'.TH "{name.upper()}" 1 "" "{version}" "Plimsoll"', ".SH NAME", f"{roff(name)} \\- {roff(description)}",
           ".SH SYNOPSIS", f".B {roff(' '.join(words))}", roff(usage[len(" ".join(words)):].strip())]
    for title, lines in sections:
        out.append(f".SH {title.upper()}")
        for left, words_of in lines:
            out += [".TP", f".B {roff(left)}", roff(words_of)]
    notes = list(footer(blocks))
    if notes and notes[0] == ".PP":
        notes[0] = ".SH NOTES"
    out += notes
    out += [".SH SEE ALSO", ",\n".join(f".BR {roff(other)} (1)" for other in others),
            ".PP", "The manual is in /usr/share/doc/plimsoll/docs, or beside the program in ../share/doc/plimsoll/docs."]
    return "\n".join(line for line in out if line) + "\n"


def write(program, words, folder, version):
    text = ask(program, words[1:] + ["--help"])
    children = [left.split()[0] for title, lines in parse(text)[2] if title == "Commands" for left, _ in lines]
    names = ["-".join(words + [child]) for child in children]
    others = names or ["-".join(words[:-1])]
    (folder / f"{'-'.join(words)}.1").write_text(page(words, text, version, others))
    for child in children:
        write(program, words + [child], folder, version)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    version = ask(program, ["--version"]).split("\n")[0]
    write(program, ["plimsoll"], folder, re.sub(r" \(.*", "", version))


if __name__ == "__main__":
    main()
