#!/bin/sh
# An accepted limit is a promise: every model, evaluation, width, depth and feature type trains, resumes and
# predicts to the end at the least limit that its plan states, and 20 and 40 MiB above it, under a limit that
# the kernel enforces. Above the least, other batches and lines are chosen than at it: those are the limits
# where plans have been wrong. A choice of them here; with PLIMSOLL_MATRIX="TYPE MODEL EVALUATION HIDDEN" all
# of these (make check-limits).
. "$(dirname "$0")/lib.sh"
. "$TESTS/scenario/limit.sh"
needs_training
make_cgroup "matrix$(echo "${PLIMSOLL_MATRIX:-}" | tr ' ' -)"
# graphs SCALE
graphs() {
  plimsoll synth papers100M --scale "$1" --seed 1 --quiet --force --out f16.plim
  plimsoll synth papers100M --scale "$1" --seed 1 --feature-type f32 --quiet --force --out f32.plim
}
# Wide models get a smaller graph: they would take minutes to predict every node of the larger one.
case ${PLIMSOLL_MATRIX:-} in *1024 | *4096) graphs 0.0001 ;; "") graphs 0.0002 ;; *) graphs 0.0004 ;; esac

# finishes BYTES WHAT COMMAND...
finishes() {
  limit=$1
  what=$2
  shift 2
  run inside "$limit" "$PLIMSOLL" "$@" --memory "$limit" --quiet
  [ "$code" -eq 0 ] || fail "$what at $limit bytes: exit code $code"
  [ "$(kills)" = 0 ] || fail "$what at $limit bytes: the kernel killed something"
  ! grep -q "left out" output || fail "$what at $limit bytes: something was left out"
}
fields() { awk '/^ *"(peak|planned)_memory_bytes"/ { gsub(/[^0-9]/, "", $2); printf " %d", $2 / 1048576 }' "$1"; }

# trains STORE MODEL EVALUATION HIDDEN FANOUT
trains() {
  what="$2, --eval $3, hidden $4, fan-out $5, $1"
  options="--model $2 --eval $3 --hidden $4 --fanout $5 --batch-size 64 --device cpu"
  [ "$2" != gat ] || options="$options --heads 4"
  least=$(minimum "$1" $options --memory 16G)
  [ -n "$least" ] || fail "no plan for $what"
  for more in 0 20 40; do
    finishes $((least + more * mib)) "$what" train "$1" $options --epochs 1 --save-dir run --force
    echo "$what: $((least / mib)) + $more MiB; peak and planned MiB:$(fields run/results.json)"
  done
}
# holds STORE MODEL EVALUATION HIDDEN FANOUT: trains, resumes and predicts.
holds() {
  trains "$@"
  finishes "$least" "resuming it" train "$1" --resume run --epochs 2 --device cpu
  # The least limit of a prediction is in the refusal of a smaller one.
  run "$PLIMSOLL" predict "$1" --device cpu --checkpoint run/last.pth --eval "$3" --split all --logits --out out.npy --force --memory 1M
  expect 4 "this prediction needs"
  least=$(sed -n 's/.*needs \([0-9.]*\) \([MG]\)iB at least.*/\1 \2/p' output |
    awk '{ printf "%d", $1 * ($2 == "G" ? 262144 : 256) + 1 }')
  for more in 0 20; do
    finishes $((least * 4096 + more * mib)) "predicting with it" \
      predict "$1" --device cpu --checkpoint run/last.pth --eval "$3" --split all --logits --out out.npy --force
  done
}

if [ -n "${PLIMSOLL_MATRIX:-}" ]; then
  # shellcheck disable=SC2086  # four words
  set -- $PLIMSOLL_MATRIX
  for fanout in 5 5,3 5,3,2 3,2,2,2; do
    holds "$1.plim" "$2" "$3" "$4" $fanout
  done
else
  holds f16.plim gat full 64 5,3
  trains f16.plim gcn full 16 3,2,2,2
  trains f32.plim gat sampled 256 5
  graphs 0.0001
  holds f16.plim mlp sampled 2048 2,2,2
  trains f32.plim sage full 1024 5,3
  # A graph of six nodes: its batches take less than loading its splits, or than reading a checkpoint.
  cp -r "$TESTS/golden/tiny.plim" tiny.plim
  for model in gcn sage gat mlp; do
    holds tiny.plim $model sampled 16 2,2
  done
fi
