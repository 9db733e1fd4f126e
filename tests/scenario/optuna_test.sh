#!/bin/sh
# The recipe of docs/reference/experiments.md: a sampler of Optuna chooses, plimsoll exec runs. It continues a
# study, and a training that fails is a trial with its cause.
. "$(dirname "$0")/exec_lib.sh"
/usr/bin/python3 -c 'import optuna' 2>/dev/null || skip "there is no python3-optuna"
cp -r "$TESTS/../examples" examples
export PLIMSOLL
run /usr/bin/python3 examples/optuna/search.py study 3
expect 0 "best of 3 trials: loss 0."
run /usr/bin/python3 examples/optuna/search.py study 2
expect 0 "best of 5 trials: loss 0."
[ "$(find study -name result.json | wc -l)" = 5 ] || fail "not one folder per trial"
grep -q "epoch 2 loss" study/trial_000/training.log || fail "no log"
sed -i 's/^    loss = 0.0/    raise SystemExit(3)/' examples/toy/train.py
run /usr/bin/python3 examples/optuna/search.py study 1
expect 0 "best of 6 trials: loss 0."
grep -q '"cause": "failed"' study/trial_005/result.json || fail "the cause: $(cat study/trial_005/result.json)"
nothing_alive "after the study"
