#!/bin/sh
# serve shows runs as live pages: to those who may read them, to many at a time, in little memory, and ends at
# once.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "there is no python3, which plays the browser"

run plimsoll serve "$WORK/missing"
expect 6 "cannot serve" "No such file or directory" "give a folder"
: >file
run plimsoll serve file
expect 2 "it is a file; give a folder"
run plimsoll serve --port 65536
expect 2 "65536"
run plimsoll serve --host 203.0.113.1
expect 6 "cannot listen on 203.0.113.1"

python3 "$TESTS/scenario/serve_client.py" "$PLIMSOLL" "$WORK"
