#!/bin/sh
# Several seeds of one training, each in its own folder; two trainings side by side; results and status of a
# training's folder.
. "$(dirname "$0")/lib.sh"
needs_training
plimsoll synth --nodes 3000 --edges 20000 --classes 4 --features 16 --seed 3 --out a.plim --quiet
common="--epochs 3 --hidden 16 --batch-size 256 --memory 1G"

# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 3 --seed 7 --save-dir many
expect 0 "seed 7 (1 of 3): many/seed_7" "seed 9 (3 of 3): many/seed_9" "test accuracy" "± " "(n 3)" "mean ± standard deviation over 3 seeds"
for seed in 7 8 9; do
  grep -q "\"seed\": $seed," many/seed_$seed/results.json || fail "seed_$seed has another seed"
done
# The same training as alone.
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seed 8 --save-dir alone
expect 0
for key in test_acc valid_acc best_epoch; do
  [ "$(grep -m1 "\"$key\"" alone/results.json)" = "$(grep -m1 "\"$key\"" many/seed_8/results.json)" ] || fail "$key differs from a training alone"
done
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 3 --seed 7 --save-dir many
expect 7 "seed_7 already holds a run"
rm -r many/seed_9
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 3 --seed 7 --resume many
expect 0 "seed 7 (1 of 3): many/seed_7" "seed 9 (3 of 3): many/seed_9" "(n 3)"
# The recipe of all seeds is the same: a resume does not change it for some.
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 4 --seed 7 --resume many --model sage
expect 2 "many/seed_7: " "model"
# Nor do other seeds of another recipe or of other data come into the same mean.
for option in "--save-dir many" "--resume many" "--save-dir many --resume auto"; do
  # shellcheck disable=SC2086
  run plimsoll train a.plim $common --seeds 2 --seed 10 --model sage $option
  expect 7 "many/seed_7 is of another training: model gcn instead of sage" "choose another --save-dir"
done
plimsoll synth --nodes 3000 --edges 20000 --classes 4 --features 16 --seed 4 --out other.plim --quiet
# shellcheck disable=SC2086
run plimsoll train other.plim $common --seeds 2 --seed 10 --save-dir many
expect 7 "many/seed_7 is of another training: data set"
[ ! -e many/seed_10 ] || fail "a seed was trained with another recipe"
# One command line starts and continues; --force leaves no other seeds.
for _ in 1 2; do
  # shellcheck disable=SC2086
  run plimsoll train a.plim $common --seeds 3 --save-dir auto --resume auto
  expect 0 "(n 3)"
done
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 2 --save-dir auto --force
expect 0 "(n 2)"
[ ! -e auto/seed_2 ] || fail "an earlier seed is left"
run plimsoll results auto --json
expect 2 "auto is a training"
run plimsoll results auto many
expect 2 "plimsoll compare A B"
# Each seed finds its GPU among those that the command may use. A GPU's runtime takes 1.4 GiB of RAM.
on_gpu="--epochs 3 --hidden 16 --batch-size 256 --memory 2G"
# shellcheck disable=SC2086
run env CUDA_VISIBLE_DEVICES=2,3 PLIMSOLL_GPU=host "$PLIMSOLL" train a.plim $on_gpu --seeds 2 --save-dir gpus --device cuda:1
expect 0 "(n 2)"
# shellcheck disable=SC2086
run env CUDA_VISIBLE_DEVICES=2,3 PLIMSOLL_GPU=host "$PLIMSOLL" train a.plim $on_gpu --seeds 2 --save-dir none --device cuda:2
expect 2 "--device cuda:2: CUDA_VISIBLE_DEVICES=2,3 shows fewer GPUs"
run plimsoll train a.plim --seeds 0 --save-dir none
expect 2 "--seeds"
# One seed is a number of seeds. -q: a line per epoch, and one with the mean.
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 1 --save-dir one
expect 0 "seed 0 (1 of 1): one/seed_0" "finished after 3 epochs"
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 2 --save-dir quiet -q
expect 0 "test accuracy" "(n 2)"
[ "$(wc -l <output)" = 7 ] || fail "-q prints more than a line per epoch and the mean: $(cat output)"

# A seed that fails ends the others with its exit code.
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 2 --save-dir bad --lr 1e30
[ "$code" -ne 0 ] || fail "a training that diverges is a success"
expect "$code" "seed 0 ended with exit code $code"
[ ! -e bad/seed_1 ] || fail "it went on"

# Ctrl-C reaches the training, which writes its checkpoint; the others do not start.
"$PLIMSOLL" train a.plim --epochs 1000000 --hidden 16 --batch-size 256 --memory 1G --quiet --seeds 2 --save-dir stopped >output 2>&1 &
training=$!
tries=0
until [ -e stopped/seed_0/best.pth ]; do
  tries=$((tries + 1))
  [ $tries -lt 600 ] || fail "it does not train"
  sleep 0.1
done
kill -TERM $training
code=0
wait $training || code=$?
expect 9 "seed 0 ended with exit code 9; continue all seeds with:" \
  "plimsoll train a.plim --epochs 1000000 --hidden 16 --batch-size 256 --memory 1G --quiet --seeds 2 --seed 0 --resume stopped"
! grep -qF -- "--resume stopped/seed_0" output || fail "it advises to continue one seed alone"
[ -e stopped/seed_0/last.pth ] && [ ! -e stopped/seed_1 ] || fail "not stopped as asked"
run plimsoll status stopped
expect 0 "stopped/seed_0: stopped" "resume all with the command that started them, with --seeds and --resume stopped"
# A single training does not mix with seeds, nor seeds with a single training.
for option in "--save-dir stopped" "--save-dir stopped --resume auto"; do
  # shellcheck disable=SC2086
  run plimsoll train a.plim $common $option
  expect 7 "stopped holds seed 0 of a training with --seeds" "choose another --save-dir"
done
run plimsoll train a.plim --resume many
expect 2 "--resume many holds seeds 7 to 9 of a training with --seeds"
# shellcheck disable=SC2086
run plimsoll train a.plim $common --seeds 2 --save-dir alone --resume auto
expect 7 "alone holds a single training"

# What the folders hold.
run plimsoll results alone
expect 0 "alone: gcn on" "finished after 3 epochs" "best      epoch" "peak"
run plimsoll status alone
expect 0 "alone: finished"
run plimsoll results many
expect 0 "seed" "test accuracy" "over 3 seeds"
run plimsoll status many
expect 0 "many/seed_7: finished" "many/seed_9: finished"
run plimsoll results a.plim
[ "$code" -ne 0 ] || fail "a store is taken for a training"

# Side by side.
# shellcheck disable=SC2086
run plimsoll train a.plim $common --model sage --dropout 0.1 --seed 8 --save-dir other
expect 0
run plimsoll compare alone other
expect 0 "A  alone: gcn on" "B  other: sage on" "dropout" "0.5" "0.1" "test accuracy" "peak memory (MiB)" "loss A" "valid B"
cp -r alone copy
run plimsoll compare alone copy
expect 0 "both have the same recipe"
run plimsoll compare alone ./alone
expect 2 "are the same training; name two"
run plimsoll compare many many/seed_7
expect 2 "many and many/seed_7 have a training in common: many/seed_7"
run plimsoll compare alone nowhere
expect 6 "there is no folder nowhere; give the --save-dir of a training"
run plimsoll compare many other
expect 0 "A  many: gcn on" "3 seeds" "no test, it needs at least two repeats of each"
cp -r many copies
run plimsoll compare many copies --json
expect 0
/usr/bin/python3 - <<'END' || fail "compare --json"
import json
answer = json.load(open("output"))
assert answer["recipe"] == {} and len(answer["curves_a"]) == 3, answer
assert any(row["figure"] == "test accuracy" and row["difference"] == 0 for row in answer["comparisons"]), answer
END
run plimsoll compare alone a.plim
expect 6 "no results.json"

# A folder of an earlier version may mix recipes, or hold a seed that did not finish: neither is in one mean
# with the others.
cp -r other copies/seed_20
run plimsoll results copies
expect 0 "copies mixes 2 trainings that differ in more than their seed" "(n 3)" "(n 1)" "model sage instead of gcn"
run plimsoll compare copies other
expect 3 "copies mixes trainings that differ in more than their seed"
rm -r copies/seed_20
sed -i 's/"status": "finished"/"status": "stopped"/' copies/seed_9/results.json
run plimsoll results copies
expect 0 "over 2 seeds" "1 of 3 seeds not finished, left out"
run plimsoll compare copies many
expect 0 "3 seeds: 2 finished after 3 epochs, 1 stopped after 3 epochs" "A: 1 of 3 seeds not finished, left out" "(n 2)"
