#!/bin/sh
# What a training learns does not depend on --threads or --workers: every loss and every weight is the same to
# the bit. A BLAS sums in an order of its own on every kind of CPU, so this is tried with the kernels of
# several.
. "$(dirname "$0")/lib.sh"
needs_training
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to compare checkpoints with"

# Enough seeds that one batch is cut into several blocks wherever that is done.
plimsoll synth --nodes 6000 --edges 60000 --classes 40 --features 64 --seed 3 --out a.plim --quiet

# Prints a digest of all tensors of a checkpoint, and the losses of the run.
cat >digest.py <<'PYTHON'
import hashlib, json, sys, zipfile
folder = sys.argv[1]
digest = hashlib.sha256()
with zipfile.ZipFile(folder + "/last.pth") as file:
    tensors = sorted(name for name in file.namelist() if "/data/" in name)
    assert tensors, "the checkpoint has no tensors: " + ", ".join(file.namelist())
    for name in tensors:
        digest.update(file.read(name))
with open(folder + "/results.json") as file:
    results = json.load(file)
print(digest.hexdigest(), [epoch["loss"] for epoch in results["series"]], results["valid_acc"], results["test_acc"])
PYTHON

epochs=1
# learned THREADS WORKERS OPTIONS...: what a run with these learned, in one line.
learned() {
  threads=$1 workers=$2
  shift 2
  run timeout 600 "$PLIMSOLL" train a.plim --save-dir run --force --quiet --epochs "$epochs" --batch-size 1500 \
    --threads "$threads" --workers "$workers" "$@"
  expect 0 "Epoch 001"
  /usr/bin/python3 digest.py run || fail "no digest of the run"
}

# same "THREADS:WORKERS..." OPTIONS...: on each of them as on one thread and one worker.
same() {
  pairs=$1
  shift
  learned 1 1 "$@" >expected
  for pair in $pairs; do
    learned "${pair%:*}" "${pair#*:}" "$@" >found
    cmp -s expected found || {
      cat expected found >output
      fail "--threads ${pair%:*} --workers ${pair#*:} learns something else than 1 and 1: $* (${OPENBLAS_CORETYPE:-this CPU})"
    }
  done
}

# has FLAG...: whether this CPU has all of them.
has() {
  for flag in "$@"; do
    grep -qE "^flags.*[[:space:]]$flag([[:space:]]|\$)" /proc/cpuinfo || return 1
  done
}

# As the CPU is; every model.
unset OPENBLAS_CORETYPE
same "16:1" --model gcn --hidden 128 --dropout 0.5 --batch-norm --weight-decay 0.001
same "16:1" --model sage --hidden 128 --label-smoothing 0.1 --eval full
same "16:1" --model gat --hidden 64 --heads 4 --fanout 10,5
same "16:1" --model mlp --hidden 256 --fanout 1,1

# OpenBLAS for many kinds of CPU can be told to take the kernels of another. It does not check that the CPU
# has the instructions. Another BLAS ignores the variable.
core() {
  export OPENBLAS_CORETYPE="$1"
  shift
  if has "$@"; then
    same "2:2 3:1 16:1 16:16" --model sage --hidden 128 --batch-norm
    # A resume for a second epoch ends like two epochs at once.
    run timeout 600 "$PLIMSOLL" train a.plim --resume run --epochs 2 --quiet --threads 2
    expect 0 "Epoch 002"
    /usr/bin/python3 digest.py run >found
    epochs=2
    learned 1 1 --model sage --hidden 128 --batch-norm >expected
    epochs=1
    cmp -s expected found || fail "a resume learns something else ($OPENBLAS_CORETYPE)"
  else
    echo "not tried: the kernels for $OPENBLAS_CORETYPE (this CPU lacks one of: $*)"
  fi
}
core Sandybridge avx
core Haswell avx2 fma
core Zen avx2 fma
core SkylakeX avx2 fma avx512f avx512bw avx512dq avx512vl
exit 0
