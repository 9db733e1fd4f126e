#!/bin/sh
# What a batch costs besides its trainings: 1,000 experiments of 10 ms, the overhead of each, and the driver's
# memory at the 100th and at the last. `bench/run_overhead.sh build/release/plimsoll [EXPERIMENTS]`
set -eu
plimsoll=$(realpath "$1")
count=${2:-1000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir toy
printf '#!/bin/sh\nsleep 0.01\n' >toy/train.sh
chmod +x toy/train.sh
cat >models_config.json <<'END'
{"models": {"toy": {"path": "toy", "train_script": "./train.sh", "models": ["default"], "supported_hyperparams": {}}}}
END
printf '{"experiments": [{"repo": "toy", "model": "default", "mode": "default", "runs_per_config": %s}]}\n' "$count" >settings.json
touch driver.log
began=$(date +%s%N)
"$plimsoll" run -ec settings.json --results results --gpu none >driver.log 2>&1 &
driver=$!
resident() {
  awk '/VmRSS/ {print $2}' "/proc/$driver/status" 2>/dev/null || true
}
early=""
late=""
while kill -0 $driver 2>/dev/null; do
  done_now=$(grep -c succeeded driver.log || true)
  now=$(resident)
  [ -n "$now" ] && late=$now
  [ -z "$early" ] && [ "$done_now" -ge $((count / 10)) ] && early=$now || true
  sleep 0.2
done
wait $driver
ended=$(date +%s%N)
bare_began=$(date +%s%N)
i=0
while [ $i -lt 100 ]; do
  (cd toy && ./train.sh)
  i=$((i + 1))
done
bare_ended=$(date +%s%N)
awk -v count="$count" -v batch=$((ended - began)) -v bare=$((bare_ended - bare_began)) -v early="$early" -v late="$late" 'BEGIN {
  each = batch / count / 1e6; alone = bare / 100 / 1e6
  printf "%d experiments: %.1f ms each, %.1f ms bare, overhead %.1f ms; driver %d KiB at a tenth, %d KiB at the end\n", count, each, alone, each - alone, early, late
}'
