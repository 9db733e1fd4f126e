#!/bin/sh
# kill -9 at random moments of a batch, resumed each time: nothing is left running, and the final table equals that of an
# undisturbed run, times aside. PLIMSOLL_KILLS=50 PLIMSOLL_EXPERIMENTS=40 for the whole of it, PLIMSOLL_SEED for the moments
# of a run that failed.
. "$(dirname "$0")/run_lib.sh"
kills=${PLIMSOLL_KILLS:-8}
count=${PLIMSOLL_EXPERIMENTS:-12}
model=${PLIMSOLL_MODEL:-slow} # good: over at once, so that more kills meet the journal
seed=${PLIMSOLL_SEED:-$$}
write_settings "{\"repo\": \"toy\", \"model\": \"$model\", \"mutate\": [\"epochs\"], \"runs_per_config\": $count}"
# All but times, energy and the run's name.
table() {
  python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1] + "/summary.csv")):
    row["experiment_id"] = row["experiment_id"].split("__")[1]
    print([value for name, value in row.items() if name not in ("timestamp", "duration_seconds") and not name.startswith("energy_")])' "$1"
}
run plimsoll run -ec settings.json -s 7
expect 0
table "$(newest)" >undisturbed
sleep 1.1 # the next run's folder has another name

"$PLIMSOLL" run -ec settings.json -s 7 >output 2>&1 &
driver=$!
sleep 0.5
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
expect 0 "$count succeeded, 0 failed, 0 left"
nothing_alive "after $kills kills"
table "$(newest)" >disturbed
python3 - "$(newest)" <<'END' || fail "attempts of which nobody saw the end"
import glob, json, sys
for name in glob.glob(sys.argv[1] + "/*/experiment.json"):
    for attempt in json.load(open(name))["attempts"]:
        for key in ("exit_code", "duration_seconds", "cpu_seconds", "peak_memory_bytes"):
            assert (attempt[key] is None) == (attempt["cause"] == "driver_ended"), attempt
END
cmp -s undisturbed disturbed || fail "the tables differ (PLIMSOLL_SEED=$seed): $(diff undisturbed disturbed)"
echo "$landed of $kills kills met a driver; seed $seed"
[ "$landed" -gt $((kills / 2)) ] || fail "the batch was over before it was killed"
