#!/bin/sh
# report: one page about a training, a batch, or several of them, and the figures of --figure and --plot.
. "$(dirname "$0")/lib.sh" "$@"
command -v python3 >/dev/null || skip "no python3 to read the pages"

cat >check.py <<'END'
"""check.py FILE.html TEXT...: fails if a tag is not closed, if anything comes from outside, or if a text is missing."""
import html.parser
import sys

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text, self.headings = [], [], []

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe"), tag
        for name, value in attributes:
            assert name != "style" and not name.startswith("on"), (tag, name)
            assert name not in ("src", "srcset"), (tag, name)
            assert name != "href" or value.startswith("#"), value
        if tag == "svg":
            assert dict(attributes).get("role") == "img" and dict(attributes).get("aria-label"), attributes
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


page = open(sys.argv[1], encoding="utf-8").read()
assert len(page.encode()) <= 1_000_000, len(page)
checker = Checker()
checker.feed(page)
assert not checker.open, checker.open
assert checker.headings[0] == 1, checker.headings
assert all(b - a <= 1 for a, b in zip(checker.headings, checker.headings[1:])), checker.headings
text = " ".join(" ".join(checker.text).split())
for wanted in sys.argv[2:]:
    assert wanted in text, wanted
END

plimsoll synth --nodes 2000 --edges 10000 --classes 5 --features 16 --out tiny.plim -q >output 2>&1 || fail "no store"
train() {
  plimsoll train tiny.plim --hidden 16 --fanout 5,5 --epochs 3 --device cpu --threads 2 -q "$@" >output 2>&1 || fail "no training"
}
train --save-dir one
[ -s one/diary.json ] || fail "no diary"
run plimsoll report one --out one.html
expect 0 "one.html: 1 run"
python3 check.py one.html "Training loss" "Accuracy" "Memory over time" "planned peak" "draw neighbours" "gather rows" "backward" \
  "wait for a batch" "Reads" "Repeat it" "tiny.plim" "Recipe" "batch_size" "Machine" "RAM" || fail "the page of a training"

# A resumed training is repeated by the command that began it.
cp -r one again
plimsoll train tiny.plim --resume again --epochs 4 -q >output 2>&1 || fail "not resumed"
plimsoll report again --out again.html >output 2>&1 || fail "no page"
python3 check.py again.html "This training was resumed" "--fanout 5,5 --epochs 3" || fail "the command of a resumed training"

# Two trainings are compared; what differs is named.
train --save-dir two --model sage
run plimsoll report one two --out both.html
expect 0 "both.html: 2 runs"
python3 check.py both.html "2 runs compared" "settings that differ" "Validation accuracy" || fail "the comparison"

# A training of an older version has no diary: the page says so.
cp -r one old && rm old/diary.json
run plimsoll report old --out old.html
expect 0
python3 check.py old.html "Memory over time was not recorded" "The command line was not recorded" || fail "the page without a diary"

# A run whose name tries to be HTML.
cp -r one '<b onload=x>&"'
run plimsoll report '<b onload=x>&"' --out evil.html
expect 0
python3 check.py evil.html '<b onload=x>&"' || fail "a name is not escaped"

# A folder that is not a run.
mkdir empty
run plimsoll report empty
expect 6 "empty is not a run"
run plimsoll report missing
expect 6 "missing does not exist"
run plimsoll report one --out empty
expect 2 "empty is a folder"
run plimsoll report one --figure queue
expect 2 "has no figure queue"
run plimsoll report one two --figure loss
expect 2 "--figure takes one RUN"

# Figures of their own are XML.
for figure in loss accuracy memory; do
  run plimsoll report one --figure $figure --out $figure.svg --title "a < b"
  expect 0 "$figure.svg"
  python3 -c 'import sys, xml.dom.minidom as d; t = d.parse(sys.argv[1]).getElementsByTagName("title")[0]
assert t.firstChild.data == "a < b"' $figure.svg || fail "$figure.svg is not XML"
done
train --save-dir logged --memory-log memory.csv
run plimsoll report memory.csv --figure memory --out log.svg
expect 0 "log.svg"
echo "a,b" >wrong.csv
run plimsoll report wrong.csv --figure memory --out log.svg
expect 3 "is not a table of train --memory-log"

# --plot: Braille where the locale has it, plain characters else, never wider than the terminal.
LC_ALL=C.UTF-8 COLUMNS=60 plimsoll results one --plot >output || fail "results --plot"
grep -q "Training loss" output || fail "no curve"
grep -q "│" output || fail "no axis"
LC_ALL=C COLUMNS=60 plimsoll inspect tiny.plim --plot -q >output || fail "inspect --plot"
sed -n '/^In-degree: nodes/,$p' output >figures
[ -s figures ] || fail "no figure of degrees"
LC_ALL=C grep -q '[^ -~]' figures && fail "not plain characters"
[ "$(wc -L <figures)" -le 60 ] || fail "wider than the terminal"
run plimsoll plan tiny.plim --device cpu --plot
expect 0 "Memory of the plan" "peak"
run plimsoll plan tiny.plim --device cpu --memory 1G,2G --plot
expect 0
run plimsoll inspect tiny.plim --plot --json
expect 2 "--plot"
echo "a training, its figures and its comparison are reported"
