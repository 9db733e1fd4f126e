#!/bin/sh
# A batch of experiments as a job: warned, it lets its experiment end and is requeued; then it runs what is
# left, in the same run.
. "$(dirname "$0")/../scenario/lib.sh"
. "$TESTS/slurm/cluster.sh"
start_cluster

mkdir toy
cat >toy/train.sh <<'SCRIPT'
#!/bin/sh
echo "begins" >>"$BEGINS"
sleep 1
echo "loss: 0.5"
SCRIPT
chmod +x toy/train.sh
export BEGINS="$WORK/begins"
cat >models_config.json <<'JSON'
{"models": {"toy": {"path": "toy", "train_script": "./train.sh", "models": ["default"],
  "supported_hyperparams": {"epochs": {"flag": "-e", "type": "int", "default": 1, "range": [1, 9]}}}}}
JSON
cat >settings.json <<'JSON'
{"experiment_name": "four", "experiments": [
  {"repo": "toy", "model": "default", "mode": "default", "runs_per_config": 4}]}
JSON
run plimsoll slurm run -ec settings.json --time 10m --mem 200M --job-name four --submit
expect 0 "submitted job "
job=$(sed -n 's/submitted job //p' output)
log=four-$job.log

begun() { [ "$(wc -l <"$BEGINS")" -ge "$1" ]; }
wait_until 60 begun 2 || fail "the second experiment never begins: $(cat "$log")"
scancel --batch --signal=USR1 "$job"
wait_until 60 is_in_state "$job" PENDING || fail "it is $(state "$job"): $(cat "$log")"
cp "$log" output
code=0
expect 0 "SIGUSR1: stopping when this attempt has ended" "2 succeeded, 0 failed, 2 left" \
  "the job reached its time limit; requeueing $job"
start_now "$job"
wait_until 60 has_ended "$job" || fail "it is $(state "$job"): $(cat "$log")"
cp "$log" output
[ "$(ended "$job")" = COMPLETED ] || fail "it ended as $(ended "$job")"
expect 0 "4 succeeded, 0 failed, 0 left"
[ "$(wc -l <"$BEGINS")" -eq 4 ] || fail "$(wc -l <"$BEGINS") experiments began, 4 expected"
[ "$(find results/four -name summary.csv | wc -l)" -eq 1 ] || fail "more than one run"
echo "four experiments in two attempts"
