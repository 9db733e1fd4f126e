# Shared by the scenarios of run: `. run_lib.sh "$@"` first. A repository `toy` whose training does what its
# model says, and `write_settings ENTRIES [TOP-LEVEL KEYS]`.
# shellcheck shell=sh
. "$(dirname "$0")/exec_lib.sh"
mkdir -p repos/toy
cat >repos/toy/train.sh <<'END'
#!/bin/sh
# train.sh -n MODEL [-e EPOCHS] [--lr RATE] [-b BATCH]
model=$2 epochs=1 rate=0 batch=64
shift 2
while [ $# -gt 0 ]; do
  case $1 in
    -e) epochs=$2 ;;
    --lr) rate=$2 ;;
    -b) batch=$2 ;;
  esac
  shift 2
done
echo "epochs $epochs rate $rate batch $batch"
case $model in
  good) echo "loss: 0.5"; echo "loss: ${epochs}e-05" ;;
  slow) sleep 0.3; echo "loss: 0.$epochs" ;;
  long) echo "loss: 1"; exec sleep 60 ;;
  roadmap) echo "roadmap: to be implemented; see loss:" ;;
  liar) echo "loss: 0.1"; exit 3 ;;
  hungry)
    echo "loss: 0.7"
    if [ "$batch" -gt 20 ]; then
      echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 9.76 GiB of which 9.00 GiB is free. Including non-PyTorch memory, this process has 0.50 GiB memory in use."
      exit 1
    fi ;;
  crowded)
    used=$(sed -n 's/^gpu [^ ]* 10000 \([0-9]*\).*/\1/p' "$FAKE_NVML_STATE")
    echo "loss: 0.7"
    if [ "$used" -gt 1000 ]; then
      echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 9.76 GiB of which 0.90 GiB is free. Including non-PyTorch memory, this process has 3.00 GiB memory in use."
      exit 1
    fi ;;
  missing) echo "ModuleNotFoundError: No module named 'apex'" >&2; exit 1 ;;
  diverged) echo "loss: nan" ;;
  cured) [ -e cure ] || { echo "ModuleNotFoundError: No module named 'apex'" >&2; exit 1; }; echo "loss: 0.1" ;;
  leaver) setsid unruly stay & sleep 0.3; echo "loss: 0.2" ;;
  chatty) printf 'epoch 1\r\033[32mepoch 2\033[0m'; sleep 2.5; echo "loss: 0.4" ;;
  device) echo "process 0 $$ 500" >>"$FAKE_NVML_STATE"; exec sleep 60 ;;
  seconds) sleep 2; echo "loss: 0.4" ;;
  deaf) exec unruly stay ;;
  busy) i=0; while :; do i=$((i + 1)); done ;;
  brief) exit 0 ;;
esac
END
chmod +x repos/toy/train.sh
cat >models_config.json <<'END'
{"models": {"toy": {"path": "repos/toy", "train_script": "./train.sh", "model_flag": "-n",
  "models": ["good", "slow", "long", "roadmap", "liar", "hungry", "crowded", "missing", "cured", "diverged", "leaver", "busy", "brief", "device", "seconds", "chatty", "deaf"],
  "supported_hyperparams": {
    "epochs": {"flag": "-e", "type": "int", "default": 3, "range": [1, 500]},
    "learning_rate": {"flag": "--lr", "type": "float", "default": 3e-5, "range": [1.5e-5, 4.5e-5], "distribution": "log_uniform"},
    "batch_size": {"flag": "-b", "type": "int", "default": 64, "range": [16, 64]}},
  "performance_metrics": {"log_patterns": {"loss": "loss:\\s*([0-9.]+)"}}}}}
END
write_settings() {
  printf '{"experiments": [%s]%s}\n' "$1" "${2:+, $2}" >settings.json
}
# The newest run's folder.
newest() {
  find "$WORK/results" -maxdepth 1 -name 'run_*' | sort | tail -n 1
}
# column NAME: of the newest run's summary, a line an experiment.
column() {
  python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1] + "/summary.csv")): print(row[sys.argv[2]])' "$(newest)" "$1"
}
# table RUN: its summary without times, energy, the run's name and what ran beside an experiment.
table() {
  python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1] + "/summary.csv")):
    row["experiment_id"] = row["experiment_id"].split("__")[1]
    print([value for name, value in row.items() if name not in ("timestamp", "duration_seconds", "jobs_beside") and not name.startswith("energy_")])' "$1"
}
# kill_and_resume KILLS SEED OPTION...: starts a batch with these options, kills its driver that often at
# random moments, resumes it each time and waits for its end. $landed is how many kills met a driver.
kill_and_resume() {
  kills=$1 seed=$2
  shift 2
  "$PLIMSOLL" run "$@" >output 2>&1 &
  driver=$!
  sleep 0.4
  i=0
  landed=0
  while [ $i -lt "$kills" ]; do
    sleep "0.$(awk "BEGIN {srand($seed * 1000 + $i); rand(); printf \"%03d\", rand() * 600}")"
    kill -KILL $driver 2>/dev/null || true
    code=0
    wait $driver 2>/dev/null || code=$?
    [ $code != 137 ] || landed=$((landed + 1))
    "$PLIMSOLL" run --resume "$(newest)" >output 2>&1 &
    driver=$!
    i=$((i + 1))
  done
  code=0
  wait $driver || code=$?
}
