#!/bin/sh
# `env` of a batch is the training's alone: plimsoll itself is not run with its LD_PRELOAD, PATH, TMPDIR or
# XDG_STATE_HOME.
. "$(dirname "$0")/run_lib.sh"
mkdir -p venv
cat >venv/trainer <<'END_OF_TRAINER'
#!/bin/sh
echo "loss: 1"
env
cat /proc/$PPID/comm /proc/$PPID/environ | tr '\0' '\n' >"$SEEN"
END_OF_TRAINER
chmod +x venv/trainer
python3 - "$WORK" "$PATH" <<'END_OF_MAKER'
import json, sys
work, path = sys.argv[1:]
config = json.load(open("models_config.json"))
config["models"]["toy"]["train_script"] = "trainer"  # found by the PATH of the training
config["models"]["toy"]["model_flag"] = ""
json.dump(config, open("models_config.json", "w"))
env = {"LD_PRELOAD": "/nonexistent/hook.so", "PATH": work + "/venv:" + path, "TMPDIR": work + "/no tmp", "XDG_STATE_HOME": work + "/theirs",
       "XDG_CACHE_HOME": work + "/theirs", "SLURM_JOB_ID": "7", "SEEN": work + "/seen", "EMPTY": "", "WITH_EQUALS": "a=b"}
json.dump({"experiments": [{"repo": "toy", "model": "good", "mode": "default", "env": env}]}, open("settings.json", "w"))
END_OF_MAKER
run plimsoll run -ec settings.json
expect 0 "1 succeeded"
attempt=$(newest)/toy_good_001/attempt_1
for line in "XDG_STATE_HOME=$WORK/theirs" "TMPDIR=$WORK/no tmp" "SLURM_JOB_ID=7" "EMPTY=" "WITH_EQUALS=a=b" "LD_PRELOAD=/nonexistent/hook.so" "PATH=$WORK/venv:$PATH"; do
  grep -qxF "$line" "$attempt/training.log" || fail "the training has not $line: $(cat "$attempt/training.log")"
done
[ "$(grep -c '^PATH=' "$attempt/training.log")" = 1 ] || fail "two PATHs"
! grep -q PLIMSOLL_SET_ "$attempt/training.log" || fail "the training sees how it was handed on"
! grep -q preload "$attempt/exec.log" || fail "exec was started with the LD_PRELOAD: $(cat "$attempt/exec.log")"
! grep -qx "SLURM_JOB_ID=7" seen || fail "plimsoll runs with the environment of the training: $(cat seen)"
[ ! -e theirs ] || fail "plimsoll wrote to the state folder of the training"
[ -f state/plimsoll/last.json ] || fail "exec has another state folder than plimsoll"

# Not what plimsoll finds its processes by, and nothing that is no name.
for name in PLIMSOLL_RUN PLIMSOLL_BATCH "" "A=B"; do
  printf '{"experiments": [{"repo": "toy", "model": "good", "mode": "default", "env": {"%s": "x"}}]}\n' "$name" >settings.json
  run plimsoll run -ec settings.json
  expect 3 "settings.json:1: error: env: "
done
