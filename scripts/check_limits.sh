#!/bin/sh
# check_limits.sh PROGRAM: every model, evaluation, width, depth and feature type at the least limit that its plan
# states, and a little above it, in a real cgroup. Takes hours on two cores; `make test` runs a few of them.
set -eu
PLIMSOLL_MATRIX=all exec "$(dirname "$0")/../tests/scenario/train_matrix_test.sh" "$1"
