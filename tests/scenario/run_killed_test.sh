#!/bin/sh
# kill -9 at random moments of a batch, resumed each time: nothing is left running, and the final table equals
# that of an undisturbed run, times aside. PLIMSOLL_KILLS=50 PLIMSOLL_EXPERIMENTS=40 for the whole of it,
# PLIMSOLL_SEED for the moments of a run that failed.
. "$(dirname "$0")/run_lib.sh"
kills=${PLIMSOLL_KILLS:-8}
count=${PLIMSOLL_EXPERIMENTS:-12}
model=${PLIMSOLL_MODEL:-slow} # good: over at once, so that more kills meet the journal
seed=${PLIMSOLL_SEED:-$$}
write_settings "{\"repo\": \"toy\", \"model\": \"$model\", \"mutate\": [\"epochs\"], \"runs_per_config\": $count}"
run plimsoll run -ec settings.json -s 7
expect 0
table "$(newest)" >undisturbed
sleep 1.1 # the next run's folder has another name

kill_and_resume "$kills" "$seed" -ec settings.json -s 7
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
