#!/bin/sh
# run_c_test.sh PROGRAM LIBRARY: runs the C program in a fresh folder, and looks at what the library exports.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder"
other=$(nm -D --defined-only "$2" | awk '$2 != "A" { print $3 }' | grep -v '^plimsoll_[a-z_]*@@PLIMSOLL_1\(_1\)\?$' || true)
[ -z "$other" ] || { echo "the library exports more than its interface: $other" >&2; exit 1; }
