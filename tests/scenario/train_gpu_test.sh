#!/bin/sh
# A GPU that makes its batches itself finds what the CPU finds: losses, accuracies and checkpoints, with
# everything in its memory, with a part of the store in the host's, with batches computed in parts, and after
# a stop. With PLIMSOLL_GPU=host the CPU runs the GPU's code. On a machine with a GPU, PLIMSOLL_TEST_GPU=cuda
# tests the GPU itself (bench/gpu.sh).
. "$(dirname "$0")/lib.sh"
needs_training
[ "${PLIMSOLL_TEST_GPU:-host}" = host ] && export PLIMSOLL_GPU=host

plimsoll synth papers100M --scale 0.0004 --seed 1 --directed --out f16.plim --quiet
plimsoll synth papers100M --scale 0.0004 --seed 2 --undirected --feature-type f32 --features 37 --out f32.plim --quiet

# close ONE OTHER: the losses of two runs agree within 1e-5, and their accuracies within a node or two.
close() {
  /usr/bin/python3 - "$1" "$2" <<'PYTHON' || fail "$2 is not close to $1"
import json, sys
one, other = (json.load(open(f"{folder}/results.json"))["series"] for folder in sys.argv[1:3])
assert len(one) == len(other) > 0
for a, b in zip(one, other):
    assert abs(a["loss"] - b["loss"]) < 1e-5 * abs(a["loss"]), (a, b)
    for name in a:
        if name.endswith("_acc") and a[name] is not None:
            assert abs(a[name] - b[name]) < 0.01, (name, a, b)
PYTHON
}

# same STORE OPTIONS...: three epochs on the CPU and on the GPU.
same() {
  store=$1
  shift
  run plimsoll train "$store" "$@" --epochs 3 --seed 5 --device cpu --save-dir cpu --force --quiet
  expect 0
  run plimsoll train "$store" "$@" --epochs 3 --seed 5 --device cuda --save-dir gpu --force --quiet
  expect 0
  close cpu gpu
}
same f16.plim --model gcn --fanout 5,3 --hidden 16 --batch-size 64
same f16.plim --model sage --fanout 4,3,2 --hidden 16 --batch-size 100 --dropout 0.3 --weight-decay 0.001 --label-smoothing 0.1
same f16.plim --model mlp --fanout 1,1,1 --hidden 16 --batch-size 64
same f32.plim --model gcn --fanout 32 --hidden 16 --batch-size 1000
same f32.plim --model sage --fanout 6,5 --hidden 7 --batch-size 33 --dropout 0
same f16.plim --model gat --fanout 5,3 --hidden 16 --batch-size 64
same f16.plim --model gat --fanout 4,3,2 --hidden 12 --heads 2 --batch-size 100 --dropout 0.3 --weight-decay 0.001 --label-smoothing 0.1
same f32.plim --model gat --fanout 6,5 --hidden 7 --heads 1 --batch-size 33 --dropout 0
same f32.plim --model gat --fanout 10 --hidden 16 --batch-size 1000

# The plan shows what the GPU holds. With little memory, most of the store is in the host's, and a batch has
# parts.
for model in sage gat; do
  options="--model $model --fanout 5,3 --hidden 64 --batch-size 256 --device cuda"
  # shellcheck disable=SC2086  # lists of words
  {
    run plimsoll plan f16.plim $options
    expect 0 "makes the batches itself" "100 % of visits"
    run plimsoll plan f16.plim $options --gpu-memory 827M
    expect 0 "makes the batches itself" "parts"
    run plimsoll train f16.plim $options --epochs 2 --save-dir whole_$model --force --quiet
    expect 0
    run plimsoll train f16.plim $options --epochs 2 --save-dir little --force --quiet --gpu-memory 827M
    expect 0
    close whole_$model little
  }
done

# What neither memory holds is read from disk, in windows: the same losses, in the same digits.
plimsoll synth papers100M --scale 0.01 --seed 1 --directed --out large.plim --quiet
options="--model sage --fanout 3,2 --hidden 16 --batch-size 256 --epochs 2 --log-steps 2 --seed 3 --device cuda --gpu-memory 900M"
# shellcheck disable=SC2086
{
  run plimsoll plan large.plim $options --memory 1700M
  expect 0 "makes the batches itself" "windows     rows of" "where rows from disk are" "requests"
  for memory in 1700M 4G; do
    run plimsoll train large.plim $options --memory $memory --save-dir $memory --quiet
    expect 0
  done
  same_tensors 4G/last.pth 1700M/last.pth
  run plimsoll predict large.plim --checkpoint 4G/best.pth --split test --device cuda --gpu-memory 900M --memory 1700M --out windows.npy
  expect 0 "accuracy"
  run plimsoll predict large.plim --checkpoint 4G/best.pth --split test --device cuda --gpu-memory 900M --memory 4G --out memory.npy
  expect 0 "accuracy"
  cmp windows.npy memory.npy || fail "rows from disk change a prediction"
}

# Its page shows the GPU's memory, and no times of steps that the GPU makes at once.
run plimsoll report 1700M --out gpu.html
expect 0
for text in "Memory of the GPU by part" "of 900.0 MiB allowed" "wait for the disk" "rows from disk"; do
  grep -qF -- "$text" gpu.html || fail "the page does not say: $text"
done
grep -q "draw neighbours" gpu.html && fail "the page has a time of drawing"
grep -q '"sample": null' 1700M/results.json || fail "a stage that is not measured is not null"
run plimsoll results 1700M
expect 0

# A prediction of the GPU is that of the CPU: by nodes of a split, and all of them in several pieces of whole
# batches.
for of in "sage test" "sage all" "gat all"; do
  for device in cpu cuda; do
    run plimsoll predict f16.plim --checkpoint "whole_${of% *}/best.pth" --split "${of#* }" --logits --device $device --out $device.npy --force
    expect 0 "wrote     $device.npy"
    sed -n 's/^accuracy  //p' output >accuracy_$device
  done
  cmp accuracy_cpu accuracy_cuda || fail "$of: not the same accuracy"
  /usr/bin/python3 - <<'PYTHON' || fail "$of: not the same logits"
import numpy
cpu, gpu = numpy.load("cpu.npy"), numpy.load("cuda.npy")
assert cpu.shape == gpu.shape and abs(cpu - gpu).max() < 1e-4 * abs(cpu).max(), abs(cpu - gpu).max()
PYTHON
done

# What cannot be kept is refused, with its reason; other recipes leave the batches to the CPU, and say so.
run plimsoll train f16.plim --gpu-memory 100M --device cuda --save-dir no
expect 4 "--gpu-memory 100.0 MiB is too little" "82"
run plimsoll predict f16.plim --checkpoint whole_sage/best.pth --gpu-memory 100M --device cuda --out no.npy
expect 4 "--gpu-memory 100.0 MiB is too little"
run plimsoll train f16.plim --gpu-memory 1G --device cuda --batch-norm --save-dir no
expect 2 "--batch-norm counts every node once"
run plimsoll train f16.plim --gpu-memory 1G --device cpu --save-dir no
expect 2 "computes on the CPU"
[ ! -e no/last.pth ] || fail "a refused training left a checkpoint"
run plimsoll plan f16.plim --device cuda --batch-norm
expect 0 "the CPU makes the batches: --batch-norm"
if [ "${PLIMSOLL_GPU:-}" = host ]; then
  export PLIMSOLL_GPU=host-without-nvrtc
  run plimsoll plan f16.plim --device cuda
  expect 0 "the CPU makes the batches: NVIDIA's compiler NVRTC is missing"
  run plimsoll plan f16.plim --device cuda --gpu-memory 1G
  expect 2 "NVRTC is missing"
  export PLIMSOLL_GPU=host
fi

# The same bits in every run, and after a stop in the middle of an epoch; the checkpoint continues on the CPU.
# shellcheck disable=SC2086
for model in sage gat; do
  options="--model $model --fanout 5,3 --hidden 16 --batch-size 4 --device cuda"
  rm -rf one two
  run plimsoll train f16.plim $options --epochs 2 --save-dir one --quiet
  expect 0
  "$PLIMSOLL" train f16.plim $options --epochs 2 --save-dir two --quiet --checkpoint-minutes 0.00001 >stopped 2>&1 &
  training=$!
  tries=0
  until [ -e two/last.pth ]; do
    tries=$((tries + 1))
    [ $tries -lt 30000 ] || fail "no checkpoint within an epoch"
    sleep 0.01
  done
  kill -INT $training 2>/dev/null || true
  wait $training || true
  run plimsoll train f16.plim --resume two --device cuda --quiet
  expect 0
  same_tensors one/last.pth two/last.pth
  run plimsoll train f16.plim --resume two --device cpu --epochs 3 --quiet
  expect 0 "Epoch 003"
done
