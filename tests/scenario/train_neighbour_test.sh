#!/bin/sh
# Room is given back: while a neighbour in the same cgroup takes memory, a running training lowers its lines
# and the neighbour gets each piece within a second; when the neighbour goes, the lines rise again. The
# training goes on all the while, and learns what an undisturbed one learns.
. "$(dirname "$0")/lib.sh"
. "$TESTS/scenario/limit.sh"
needs_training
. "$TESTS/scenario/neighbour_lib.sh"

resident() { awk '/^VmRSS:/ { print $2 * 1024 }' "/proc/$(cat training.pid)/status"; }
a_neighbour_takes_memory
