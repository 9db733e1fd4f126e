#!/bin/sh
# check_limits.sh PROGRAM: every model, evaluation, width, depth and feature type at the least limit that its
# plan states, and a little above it, in a real cgroup. JOBS parts at a time. Takes hours on two cores;
# `make test` runs a few of them.
set -eu
here=$(dirname "$0")
# The widest take longest and come first.
for hidden in 4096 1024 256 64 16; do
  for type in f16 f32; do
    for model in gcn sage gat mlp; do
      echo "$type $model sampled $hidden"
      [ $model = mlp ] || echo "$type $model full $hidden" # mlp has no neighbours
    done
  done
done | xargs -P "${JOBS:-$(nproc)}" -d '\n' -I{} env PLIMSOLL_MATRIX={} "$here/../tests/scenario/train_matrix_test.sh" "$1"
