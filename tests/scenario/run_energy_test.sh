#!/bin/sh
# Energy through a whole batch, with GPUs and packages whose power is known. The tenth failure on record: the
# sum of samples for an integral, two GPUs that broke the table, the whole machine's energy taken for one's
# own, no idle baseline.
. "$(dirname "$0")/run_lib.sh"
fake=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
[ -f "$fake" ] || skip "there is no $fake"
sed -i 's/  slow) .*/  slow) sleep 2; echo "loss: 0.1" ;;/' repos/toy/train.sh

# Counters as the kernel shows them, 80 W and 5 W, wrapping every minute and a half.
cat >powercap.py <<'END'
import os, sys, time
zones = {"intel-rapl:0": ("package-0", 80e6), "intel-rapl:0:0": ("dram", 5e6), "intel-rapl:0:1": ("core", 40e6)}
files = []
for folder, (name, watts) in zones.items():
    path = os.path.join(sys.argv[1], folder)
    os.makedirs(path)
    for key, text in (("name", name), ("max_energy_range_uj", "7000000000")):
        with open(os.path.join(path, key), "w") as file:
            file.write(text + "\n")
    files.append((os.open(os.path.join(path, "energy_uj"), os.O_RDWR | os.O_CREAT), watts))
began = time.monotonic()
while os.getppid() == int(sys.argv[2]):
    for fd, watts in files:
        count = int(6900e6 + watts * (time.monotonic() - began)) % 7000000000
        os.pwrite(fd, b"%012d\n" % count, 0)
    time.sleep(0.02)
END
python3 powercap.py "$WORK/powercap" $$ &
counters=$!
export PLIMSOLL_POWERCAP="$WORK/powercap" PLIMSOLL_NVML="$fake" FAKE_NVML_STATE="$WORK/nvml"
# GPU 0 swings between 100 W and 300 W every second, GPU 1 takes 50 W.
gpus="began $(date +%s)
gpu GPU-a-$$ 81920 100 counter=500000 temp=60 util=90 name=NVIDIA_Fake curve=0:100,0.5:300,1:100
gpu GPU-b-$$ 81920 100 counter=900000 temp=40 util=10 name=NVIDIA_Fake curve=0:50,10:50"
echo "$gpus" >nvml
until [ -s powercap/intel-rapl:0:1/energy_uj ]; do sleep 0.05; done

# Two GPUs: columns, not a broken file; every figure right, with its source; gross and net.
write_settings '{"repo": "toy", "model": "slow", "mode": "default", "runs_per_config": 2}'
run plimsoll run -ec settings.json --idle-baseline 1s
expect 0 "energy: CPU by powercap; GPU 0, 1 by NVML" "measuring the power of the idle machine for 1.0 s" "GPU-b-$$ " "2 succeeded"
cat >check.py <<'END'
import csv, glob, json, sys
folder = sys.argv[1]
lines = list(csv.reader(open(folder + "/summary.csv")))
assert all(len(line) == len(lines[0]) for line in lines), "rows of different lengths"
def near(figure, truth, share):
    assert abs(float(figure) - truth) <= share * abs(truth), (figure, truth)
for row in csv.DictReader(open(folder + "/summary.csv")):
    seconds = float(row["duration_seconds"])
    near(row["energy_gpu0_total_joules"], 200 * seconds, 0.04)
    near(row["energy_gpu1_total_joules"], 50 * seconds, 0.02)
    near(row["energy_gpu_total_joules"], 250 * seconds, 0.04)
    near(row["energy_gpu_integral_joules"], float(row["energy_gpu_counter_joules"]), 0.01)
    near(row["energy_cpu_pkg_joules"], 80 * seconds, 0.03)
    near(row["energy_cpu_ram_joules"], 5 * seconds, 0.03)
    near(row["energy_cpu_total_joules"], 85 * seconds, 0.03)
    near(row["energy_gpu_avg_watts"], 250, 0.04)
    assert abs(float(row["energy_gpu1_net_joules"])) < 3, row["energy_gpu1_net_joules"]
    assert abs(float(row["energy_cpu_net_joules"])) < 8, row["energy_cpu_net_joules"]
    assert row["energy_cpu_source"] == "powercap" and row["energy_gpu_source"] == "nvml_counter", row
    assert row["energy_gpu_quality"] == "exclusive", row["energy_note"]
    assert float(row["energy_gpu_coverage"]) > 0.97 and float(row["energy_cpu_coverage"]) > 0.97, row
    assert float(row["energy_gpu_temp_max_celsius"]) == 60 and float(row["energy_gpu1_temp_max_celsius"]) == 40, row
for energy in glob.glob(folder + "/toy_slow_00?/energy"):
    power = list(csv.DictReader(open(energy + "/gpu_power.csv")))
    times = [float(line["timestamp"]) for line in power]
    assert list(power[0]) == ["timestamp", "power_draw_w", "gpu0_power_draw_w", "gpu1_power_draw_w"], power[0]
    assert len(times) / (times[-1] - times[0]) >= 10, "samples a second"
    for line in power:
        near(line["power_draw_w"], float(line["gpu0_power_draw_w"]) + 50, 0.01)
    assert list(csv.DictReader(open(energy + "/gpu_temperature.csv")))[0]["gpu_temp_c"] == "60"
    assert list(csv.DictReader(open(energy + "/gpu_utilization.csv")))[0]["gpu_util_percent"] == "50"
    assert "Package Energy (Joules): 1" in open(energy + "/cpu_energy.txt").read()
    metrics = json.load(open(energy[:-len("/energy")] + "/experiment.json"))["energy_metrics"]
    near(metrics["gpu_energy_total_joules"], 250 * 2, 0.1)
    assert len(metrics["details"]["gpus"]) == 2
    sampling = metrics["details"]["sampling_cpu_seconds"] / metrics["details"]["seconds"]
    print("sampling takes %.2f %% of a CPU, NVML's stand-in included" % (100 * sampling))
END
run python3 check.py "$(newest)"
expect 0
cat output
[ -f "$(newest)/idle_baseline.json" ] || fail "the baseline is not written down"
run plimsoll results "$(newest)"
expect 0 "energy (J)" "±" "2 experiments: 2 succeeded"
! grep -q "energy: un" output || fail "measured and unavailable"
run plimsoll results "$(newest)" --grams-per-kwh 400 --price "0.30 EUR"
expect 0 "CO2 (g)" "cost (EUR)"
run plimsoll results "$(newest)" --pareto loss energy
expect 0 "1 configuration is on the front"

# One GPU: the files that readers know, unchanged.
write_settings '{"repo": "toy", "model": "slow", "mode": "default"}'
run plimsoll run -ec settings.json --gpu 1
expect 0 "1 succeeded"
[ "$(head -n 1 "$(newest)/toy_slow_001/energy/gpu_power.csv")" = timestamp,power_draw_w ] || fail "the header of one GPU"
! head -n 1 "$(newest)/summary.csv" | grep -q gpu1_ || fail "columns of several GPUs for one"
python3 - "$(column energy_gpu_total_joules)" "$(column duration_seconds)" <<'END' || fail "one GPU"
import sys
assert abs(float(sys.argv[1]) - 50 * float(sys.argv[2])) < 2, sys.argv
END
[ -z "$(column energy_gpu_net_joules)" ] || fail "net figures without a baseline"

# A background load is part of the experiment, and is restarted while the sampler runs.
sed -i 's/  busy) .*/  busy) end=$(($(date +%s%N) + 900000000)); while [ "$(date +%s%N)" -lt $end ]; do :; done ;;/' repos/toy/train.sh
write_settings '{"mode": "parallel", "foreground": {"repo": "toy", "model": "slow", "mode": "default"}, "background": {"repo": "toy", "model": "busy"}}'
run plimsoll run -ec settings.json
expect 0 "1 succeeded"
python3 - "$(newest)/toy_slow_001_parallel/experiment.json" <<'END' || fail "energy beside a background load"
import json, sys
result = json.load(open(sys.argv[1]))
metrics = result["foreground"]["energy_metrics"]
assert metrics["attribution"] == "foreground and background together", metrics
assert result["background"]["runs"] > 1, result["background"]
assert metrics["details"]["cpu"]["own_cpu_seconds"] > 0.2, metrics["details"]["cpu"]
assert metrics["gpu_energy_total_joules"] > 400, metrics
END
write_settings '{"repo": "toy", "model": "slow", "mode": "default"}'

# Others on the GPU and on the package: said, with who.
sleep 60 &
holder=$!
printf '%s\nprocess 0 %s 9000\n' "$gpus" "$holder" >nvml
python3 -c 'import os
while os.getppid() == '$$': sum(range(10000))' &
busy=$!
run plimsoll run -ec settings.json
expect 0
[ "$(column energy_gpu_quality) $(column energy_cpu_quality)" = "shared shared" ] || fail "not shared: $(column energy_note)"
column energy_note | grep -q "GPU 0 was held by sleep 60 (pid $holder" || fail "note: $(column energy_note)"
column energy_note | grep -q "other processes used" || fail "note: $(column energy_note)"
[ "$(column energy_gpu0_quality) $(column energy_gpu1_quality)" = "shared exclusive" ] || fail "the wrong GPU is shared"
kill $holder $busy

# Nothing to measure with: no number, and the reason.
kill $counters
run env PLIMSOLL_NVML=libthere-is-no-such.so PLIMSOLL_POWERCAP="$WORK/nowhere" "$PLIMSOLL" run -ec settings.json --idle-baseline 1s
expect 0
[ -z "$(column energy_gpu_total_joules)$(column energy_gpu_avg_watts)" ] || fail "figures out of nothing"
[ "$(column energy_gpu_quality)" = unavailable ] || fail "quality $(column energy_gpu_quality)"
column energy_note | grep -q "there is no NVIDIA driver" || fail "note: $(column energy_note)"
if [ "$(column energy_cpu_source)" != perf ]; then
  [ -z "$(column energy_cpu_total_joules)" ] || fail "CPU energy out of nothing"
  column energy_note | grep -q "there is no $WORK/nowhere/intel-rapl:0" || fail "note: $(column energy_note)"
  grep -q "idle-baseline: no energy counter is available" output || fail "a baseline out of nothing"
  ! grep -q "measuring the power" output || fail "nothing was measured, for a while"
  [ ! -e "$(newest)/idle_baseline.json" ] || fail "a baseline without figures is written down"
  python3 - "$(newest)/toy_slow_001/experiment.json" <<'END' || fail "CPU time that nobody looked at"
import json, sys
cpu = json.load(open(sys.argv[1]))["energy_metrics"]["details"]["cpu"]
assert cpu["own_cpu_seconds"] is None and cpu["other_cpu_seconds"] is None, cpu
END
  run plimsoll results "$(newest)"
  expect 0 "energy: unavailable; CPU: there is no" "GPU: there is no NVIDIA driver" "plimsoll doctor says"
  [ "$(grep -c unavailable output)" = 1 ] || fail "unavailable more than once"
  grep -q "Package Energy (Joules): unavailable" "$(newest)/toy_slow_001/energy/cpu_energy.txt" || fail "cpu_energy.txt"
fi
rm -f /run/lock/plimsoll-GPU-[ab]-$$.lock /tmp/plimsoll-GPU-[ab]-$$.lock
