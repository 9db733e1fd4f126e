#!/bin/sh
# Several experiments at once on several GPUs: each has its own, shared energy is marked, and a cooldown waits
# for them.
. "$(dirname "$0")/run_lib.sh"
FAKE=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
[ -f "$FAKE" ] || skip "there is no $FAKE"
export PLIMSOLL_NVML="$FAKE" FAKE_NVML_STATE="$WORK/nvml" PLIMSOLL_POWERCAP="$WORK/powercap"
mkdir -p powercap/intel-rapl:0
echo package-0 >powercap/intel-rapl:0/name
echo 7000000000 >powercap/intel-rapl:0/max_energy_range_uj
printf '%012d\n' 1000000 >powercap/intel-rapl:0/energy_uj
# gpus CELSIUS MILLIWATTS: of GPU a.
gpus() {
  printf 'gpu GPU-a-%s 10000 0 util=0 temp=%s power=%s\ngpu GPU-b-%s 10000 0 util=0 temp=40 power=50000\n' $$ "$1" "$2" $$ >nvml.new
  mv nvml.new nvml
}
gpus 40 50000
cat >repos/toy/train.sh <<'TRAIN'
#!/bin/sh
echo "devices $CUDA_VISIBLE_DEVICES"
echo "at begin: $(sed -n 's/.*GPU-a.* temp=\([0-9]*\).*/\1/p' "$FAKE_NVML_STATE")"
for i in 1 2 3 4 5 6; do # the package takes 1 W
  sleep 0.1
  printf '%012d\n' $(($(date +%s%N) / 1000 % 7000000000)) | dd of="$PLIMSOLL_POWERCAP/intel-rapl:0/energy_uj" conv=notrunc status=none
done
[ "$2" != device ] || sed 's/temp=40 power=50000/temp=70 power=250000/' "$FAKE_NVML_STATE" >hot
[ ! -e hot ] || mv hot "$FAKE_NVML_STATE"
echo "loss: 0.1"
TRAIN

write_settings '{"repo": "toy", "model": "good", "mutate": ["epochs"], "settings": 4}'
run plimsoll run -ec settings.json --jobs 2
expect 0 "4 succeeded"
for gpu in a b; do
  [ "$(cat "$(newest)"/*/training.log | grep -c "devices GPU-$gpu-$$\$")" = 2 ] || fail "GPU $gpu: $(cat "$(newest)"/*/training.log)"
done
grep -q "1 experiment of this batch ran beside it" "$(newest)"/toy_good_001/experiment.json || fail "shared energy is not marked"
run plimsoll run -ec settings.json --jobs 3
expect 2 "3 jobs with 1 GPU each need 3 GPUs, and there are 2"
run plimsoll run -ec settings.json --jobs 2 --gpus-per-job 2
expect 2 "2 jobs with 2 GPUs each need 4 GPUs"
sleep 1.1
run plimsoll run -ec settings.json --jobs 3 --gpu none
expect 0 "4 succeeded"

# cooldown auto: the second one begins when the GPU is as cool as when the batch began.
write_settings '{"repo": "toy", "model": "device", "mode": "default", "runs_per_config": 2}' '"cooldown": "auto"'
sleep 1.1
(
  until grep -q temp=70 nvml; do sleep 0.1; done
  sleep 1
  gpus 42 50000
) &
run plimsoll run -ec settings.json --gpu 0
expect 0 "2 succeeded"
[ "$(cat "$(newest)"/*/training.log | grep 'at begin' | tr '\n' ' ')" = "at begin: 40 at begin: 42 " ] ||
  fail "it began too early: $(cat "$(newest)"/*/training.log)"

sleep 1.1
run plimsoll run -ec settings.json --gpu none
expect 0 "warning: cooldown auto has no GPU to wait for" "2 succeeded"

# A cooldown of a time: so long between the end of one and the begin of the next.
gpus 40 50000
write_settings '{"repo": "toy", "model": "good", "mode": "default", "runs_per_config": 2}' '"cooldown": "2s"'
sleep 1.1
run plimsoll run -ec settings.json --gpu 0
expect 0 "2 succeeded"
python3 - "$(newest)" <<'END' || fail "no pause"
import os, sys
first = os.stat(sys.argv[1] + "/toy_good_001/attempt_1/result.json").st_mtime
second = os.stat(sys.argv[1] + "/toy_good_002/attempt_1/training.log").st_mtime  # 0.6 s after its begin
assert second - first >= 2.5, second - first
END
