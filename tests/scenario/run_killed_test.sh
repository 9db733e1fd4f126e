#!/bin/sh
# kill -9 at random moments of a batch, resumed each time: nothing is left running, and the final table equals that of an
# undisturbed run, times aside (PLIMSOLL_KILLS for another number, PLIMSOLL_EXPERIMENTS for another batch).
. "$(dirname "$0")/run_lib.sh"
kills=${PLIMSOLL_KILLS:-10}
count=${PLIMSOLL_EXPERIMENTS:-20}
write_settings "{\"repo\": \"toy\", \"model\": \"slow\", \"mutate\": [\"epochs\"], \"runs_per_config\": $count}"
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
while [ $i -lt "$kills" ]; do
  sleep "0.$(awk "BEGIN {srand($i); printf \"%03d\", rand() * 600}")"
  kill -KILL $driver 2>/dev/null || true
  wait $driver 2>/dev/null || true
  "$PLIMSOLL" run --resume "$(newest)" >output 2>&1 &
  driver=$!
  i=$((i + 1))
done
code=0
wait $driver || code=$?
expect 0 "$count succeeded, 0 failed, 0 left"
nothing_alive "after $kills kills"
table "$(newest)" >disturbed
cmp -s undisturbed disturbed || fail "the tables differ: $(diff undisturbed disturbed)"
