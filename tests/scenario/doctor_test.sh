#!/bin/sh
# doctor says what this machine lets us guarantee, quickly, and leaves nothing behind.
. "$(dirname "$0")/lib.sh"
unset PLIMSOLL_NVML

start=$(date +%s%N)
run env PLIMSOLL_NVML=libthere-is-no-such.so "$PLIMSOLL" doctor
milliseconds=$((($(date +%s%N) - start) / 1000000))
expect 0 "kernel" "supervision" "--memory of exec" "memory limit" "swap" "there is no NVIDIA driver" "CPU energy" "io_uring" \
  "disk" "/dev/shm" "ulimit -l" "ulimit -n" "Slurm"
[ "$milliseconds" -lt 5000 ] || fail "it took $milliseconds ms"
grep -q "$(printf '\033')" output && fail "colours without a terminal"
[ "$(ls)" = output ] || fail "it left files: $(ls)"
"$PLIMSOLL" doctor --json >json
grep -q '"level": "' json || fail "no level in the JSON"
grep -q '"memory_limit_source": "' json || fail "no source of the limit in the JSON"

fake=$(dirname "$PLIMSOLL")/tests/libfake_nvml.so
if [ -f "$fake" ]; then
  sleep 30 &
  holder=$!
  printf 'driver 550.1\ngpu GPU-a 81920 20480 name=NVIDIA_Fake energy=5 temp=40\nprocess 0 %s 10240\n' "$holder" >state
  run env PLIMSOLL_NVML="$fake" FAKE_NVML_STATE="$WORK/state" "$PLIMSOLL" doctor
  kill "$holder"
  expect 0 "GPU 0" "NVIDIA Fake, driver 550.1, 60.0 GiB of 80.0 GiB free, 40 °C" \
    "held by sleep 30 (pid $holder" "10.0 GiB by unlisted processes" "counted by the device"
  echo 'fail nvmlInit_v2 9' >state
  run env PLIMSOLL_NVML="$fake" FAKE_NVML_STATE="$WORK/state" "$PLIMSOLL" doctor
  expect 0 "the NVIDIA driver does not answer: Driver Not Loaded"
fi
