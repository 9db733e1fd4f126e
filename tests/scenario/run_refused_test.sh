#!/bin/sh
# What exec answers with 125: only a GPU without room is worth another attempt; all else has a cause of its
# own, and is explained.
. "$(dirname "$0")/run_lib.sh"
FAKE=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
[ -f "$FAKE" ] || skip "there is no $FAKE"
gpu=GPU-refused-$$
printf 'gpu %s 10000 9000 util=0\n' $gpu >nvml
export PLIMSOLL_NVML="$FAKE" FAKE_NVML_STATE="$WORK/nvml"
unset CUDA_VISIBLE_DEVICES
trap 'rm -f /run/lock/plimsoll-$gpu.lock /tmp/plimsoll-$gpu.lock; end_own' EXIT

# No room: the gate stays shut, and it is tried again.
write_settings '{"repo": "toy", "model": "good", "mode": "default", "gpu_free": "5G"}'
run plimsoll run -ec settings.json --gpu-wait 0.2s
expect 11 "not_admitted: the same values again" "not_admitted: no retry left of 2"
[ "$(column cause)" = not_admitted ] || fail "cause $(column cause)"
[ "$(column retries)" = 2 ] || fail "retries $(column retries)"
grep -q '"evidence": "its GPUs did not have enough free memory in time"' "$(newest)/toy_good_001/experiment.json" || fail "no evidence"

# The folder of the training goes away while the batch runs: exec cannot be started there.
cp -r repos/toy repos/gone
python3 - <<'END_OF_MAKER'
import json
config = json.load(open("models_config.json"))
config["models"]["gone"] = json.loads(json.dumps(config["models"]["toy"]))
config["models"]["gone"]["path"] = "repos/gone"
config["models"]["toy"]["train_script"] = "./mover.sh"
json.dump(config, open("two.json", "w"))
END_OF_MAKER
printf '#!/bin/sh\nmv ../gone ../away\necho "loss: 1"\n' >repos/toy/mover.sh
chmod +x repos/toy/mover.sh
write_settings '{"repo": "toy", "model": "good", "mode": "default"}, {"repo": "gone", "model": "good", "mode": "default"}'
run plimsoll run -ec settings.json -c two.json
expect 11 "not_supervised: it would end the same way again" "cannot enter"
[ "$(column cause | tail -n 1)" = not_supervised ] || fail "cause $(column cause)"
[ "$(column retries | tail -n 1)" = 0 ] || fail "it was tried again"
grep -q '"next_step": "fix what' "$(newest)/gone_good_002/experiment.json" || fail "it is not explained"

# The driver of the GPU fails while the batch runs: exec refuses, and that is no lack of room.
printf '#!/bin/sh\nrm "$FAKE_NVML_STATE"\necho "loss: 1"\n' >repos/toy/mover.sh
write_settings '{"repo": "toy", "model": "good", "mode": "default", "runs_per_config": 2}'
run plimsoll run -ec settings.json -c two.json
expect 11 "1 succeeded, 1 failed" "not_supervised: it would end the same way again"
[ "$(column cause | tail -n 1)" = not_supervised ] || fail "cause $(column cause)"
