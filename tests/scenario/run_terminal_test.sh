#!/bin/sh
# A batch at a terminal: a few live lines, the same in `status` from elsewhere; and how long it will take, by
# what it took.
. "$(dirname "$0")/run_lib.sh"
write_settings '{"repo": "toy", "model": "chatty", "mode": "default", "runs_per_config": 3}'
run plimsoll run -ec settings.json --dry-run
expect 0 "toy_chatty_003, expected time unknown" "expected time of the batch, by medians of earlier runs: unknown"
[ ! -d results ] || fail "a dry run has left a folder"
FAKE=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
if [ -f "$FAKE" ]; then
  printf 'gpu GPU-terminal-%s 10000 6000 util=42\n' $$ >nvml
  export PLIMSOLL_NVML="$FAKE" FAKE_NVML_STATE="$PWD/nvml"
fi
python3 "$TESTS/scenario/run_terminal.py" "$PLIMSOLL" || fail "at a terminal"
rm -f /run/lock/plimsoll-GPU-terminal-$$.lock /tmp/plimsoll-GPU-terminal-$$.lock
nothing_alive "after Ctrl-C"

# By runs in the results folder, and by tables from elsewhere.
run plimsoll run -ec settings.json --dry-run
expect 0 "by medians of earlier runs: about "
grep -Eq "^toy_chatty_001, expected time about [0-9.]+ s$" output || fail "no expected time of an experiment that has run"
write_settings '{"repo": "toy", "model": "chatty", "mode": "default"}, {"repo": "toy", "model": "good", "mode": "default"}, {"repo": "toy", "model": "slow", "mode": "default"}' '"historical_csvs": ["past.csv"]'
printf 'experiment_id,repository,model,training_success,duration_seconds\na,toy,good,True,60\nb,toy,good,True,80\nc,toy,good,False,1\n' >past.csv
run plimsoll run -ec settings.json --dry-run
expect 0 "toy_good_002, expected time about 1 min 10 s" "toy_slow_003, expected time unknown" \
  "by medians of earlier runs: about 1 min 1" "and 1 experiment of unknown length"
