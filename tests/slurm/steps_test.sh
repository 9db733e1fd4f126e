#!/bin/sh
# `plimsoll run --jobs` in a Slurm allocation: each experiment is a step, on both nodes; the table is that of
# a run without Slurm; a stop of the driver, or its death, ends the steps.
. "$(dirname "$0")/../scenario/lib.sh"
. "$TESTS/slurm/cluster.sh"
start_cluster
mkdir toy
cat >toy/train.sh <<'SCRIPT'
#!/bin/sh
echo "step $SLURM_STEP_ID on $SLURMD_NODENAME with $SLURM_CPUS_PER_TASK"
sleep "${NAP:-1}"
echo "loss: 0.$2"
SCRIPT
chmod +x toy/train.sh
cat >models_config.json <<'JSON'
{"models": {"toy": {"path": "toy", "train_script": "./train.sh",
  "supported_hyperparams": {"epochs": {"flag": "-e", "type": "int", "default": 1, "range": [1, 9]}},
  "performance_metrics": {"log_patterns": {"loss": "loss: ([0-9.]+)"}}}}}
JSON
echo '{"experiments": [{"repo": "toy", "mutate": ["epochs"], "settings": 6}]}' >settings.json
table() {
  python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1] + "/summary.csv")): print(row["hyperparam_epochs"], row["perf_loss"], row["cause"], row["configuration"])' "$1"
}
folder() { sed -n 's/^run folder: //p' output; }
run plimsoll run -ec settings.json -s 5 --results alone
expect 0 "6 succeeded"
table "$(folder)" >alone.table

# allocated COMMAND...: in an allocation of both nodes, as a batch script is.
allocated() {
  run salloc --quiet --nodes=2 --ntasks-per-node=2 --mem=1000M "$@"
}
allocated "$PLIMSOLL" run -ec settings.json -s 5 --jobs 4 --results steps
expect 0 "each experiment is a step of Slurm job" "6 succeeded"
table "$(folder)" >steps.table
cmp -s alone.table steps.table || fail "the tables differ: $(diff alone.table steps.table)"
cat "$(folder)"/*/training.log | sed -n 's/^step \([0-9]*\) on .*/\1/p' | sort -n | uniq -c >ids
[ "$(wc -l <ids)" -eq 6 ] || fail "not six steps: $(cat ids)"
[ "$(cat "$(folder)"/*/training.log | sed -n 's/^step .* on \([^ ]*\) .*/\1/p' | sort -u | wc -l)" -eq 2 ] || fail "not on both nodes"
allocated "$PLIMSOLL" run -ec settings.json -s 5 --jobs 2 --results here --no-steps
expect 0 "6 succeeded"
! grep -q "^step [0-9]" "$(folder)"/*/training.log || fail "--no-steps makes steps"

# The driver is killed: nothing of its steps remains, and the batch continues.
running() { squeue -h -s -o %i | grep -v 'batch\|extern\|interactive'; }
not_running() { ! running; }
export NAP=30
salloc --quiet --nodes=2 --ntasks-per-node=2 --mem=1000M sh -c "'$PLIMSOLL' run -ec settings.json -s 5 --jobs 4 --results killed & echo \$! >driver; wait; sleep 60" >output 2>&1 &
allocation=$!
four() { [ "$(running | wc -l)" -eq 4 ]; }
wait_until 60 four || fail "four steps do not run: $(running)"
kill -KILL "$(cat driver)"
wait_until 60 not_running || fail "steps are left: $(running)"
kill $allocation
wait $allocation 2>/dev/null || true
run=$(folder)
NAP=1 allocated "$PLIMSOLL" run --resume "$run"
expect 0 "6 succeeded"
table "$run" >killed.table
cmp -s alone.table killed.table || fail "the tables differ: $(diff alone.table killed.table)"
echo "six steps, and a killed driver left none"
