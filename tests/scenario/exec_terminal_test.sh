#!/bin/sh
# On a terminal: Ctrl-C, Ctrl-Z and fg, window size and colours are as if the command ran bare, with and
# without a log; a terminal that closes leaves nothing.
. "$(dirname "$0")/exec_lib.sh"
command -v python3 >/dev/null || skip "no python3 to play the terminal"
python3 "$TESTS/scenario/exec_terminal.py" "$PLIMSOLL" || fail "see above"
nothing_alive "terminal" 30
