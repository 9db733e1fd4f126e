#!/bin/sh
# The live pages in a real browser: they change while a training runs, and survive its end and the server's.
. "$(dirname "$0")/lib.sh"
needs_training
command -v python3 >/dev/null || skip "there is no python3 to drive a browser"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
  skip "there is no Chromium (Debian: chromium)"

plimsoll synth --nodes 5000 --edges 50000 --classes 8 --features 16 --seed 3 --out a.plim --quiet
python3 "$TESTS/scenario/serve_browser.py" "$PLIMSOLL" "$WORK"
