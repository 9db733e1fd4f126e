#!/bin/sh
# Why Slurm ends a job decides what becomes of it: requeued at the time limit and when preempted, submitted
# again with more memory, left alone when cancelled or failed. Tasks of arrays are requeued under their own
# ids.
. "$(dirname "$0")/../scenario/lib.sh"
. "$TESTS/slurm/cluster.sh"
start_cluster

# job OPTIONS... -- COMMAND...: a script that runs the command under `slurm exec`; its id goes to $job.
submit() {
  options=""
  while [ "$1" != -- ]; do
    options="$options $1"
    shift
  done
  shift
  {
    echo "#!/bin/bash"
    echo "#SBATCH --output=$WORK/%A.log --open-mode=append --requeue --chdir=$WORK --mem=200M"
    echo "export PATH=${job_path:-$PATH}"
    printf 'exec'
    printf ' %s' "$PLIMSOLL" slurm exec ${exec_options:-} --
    printf " '%s'" "$@"
    echo
  } >script.sh
  job=$(sbatch --parsable $options script.sh) || fail "sbatch refused the script"
}
until_says() { # until_says SECONDS TEXT
  wait_until "$1" grep -qF -- "$2" "$job.log" || {
    cp "$job.log" output 2>/dev/null || true
    fail "job $job never said: $2"
  }
}
never_says() { ! grep -qF -- "$1" "$job.log" || fail "job $job said: $1"; }
# Ends like a training: after SIGUSR1 or SIGTERM it writes and exits with 9. Its second attempt succeeds.
cat >work.sh <<'SCRIPT'
#!/bin/bash
trap 'echo "checkpoint written"; exit 9' USR1 TERM
echo "attempt ${SLURM_RESTART_COUNT:-0} begins"
[ "${SLURM_RESTART_COUNT:-0}" -lt "${ENOUGH:-1}" ] || exit 0
for i in $(seq 3000); do sleep 0.1; done
SCRIPT
chmod +x work.sh
is_requeued() { is_in_state "$job" PENDING; }
finishes() { # finishes STATE
  wait_until 30 has_ended "$job" || fail "job $job is still $(state "$job")"
  [ "$(ended "$job")" = "$1" ] || fail "job $job ended as $(ended "$job"), $1 expected: $(cat "$job.log")"
}

# The time limit itself, without a warning that helps: it takes a minute, in which the next ones run.
submit --time=1 -- ./work.sh
limited=$job
until_says 20 "attempt 0 begins"

# The warning that Slurm sends before the time limit.
submit --time=1 --signal=B:USR1@58 -- ./work.sh
until_says 20 "attempt 0 begins"
until_says 50 "checkpoint written" # Slurm looks every 30 s
until_says 20 "the job reached its time limit; requeueing $job (restart 1 of at most 20)"
scancel "$job"

# The same signal at another time: the user's wish.
submit -- ./work.sh
until_says 20 "attempt 0 begins"
scancel --batch --signal=USR1 "$job"
until_says 20 "the job reached its time limit; requeueing $job (restart 1 of at most 20)"
wait_until 20 is_requeued || fail "it is $(state "$job")"
start_now "$job"
until_says 30 "attempt 1 begins"
finishes COMPLETED

# A task of an array.
submit --array=3-4 -- ./work.sh
wait_until 20 sh -c "[ \"\$(grep -c 'attempt 0 begins' $job.log)\" = 2 ]" || fail "the tasks do not begin"
scancel --batch --signal=USR1 "${job}_4"
until_says 20 "requeueing ${job}_4 (restart 1 of at most 20)"
never_says "requeueing ${job}_3"
scancel "$job"

# scancel, also while the checkpoint is written.
submit -- ./work.sh
until_says 20 "attempt 0 begins"
scancel "$job"
until_says 20 "the job was cancelled; it is not requeued"
finishes CANCELLED
grep -qF "checkpoint written" "$job.log" || fail "no time for a checkpoint"

# A signal that is not Slurm's decision.
submit -- ./work.sh
until_says 20 "attempt 0 begins"
scancel --batch --signal=TERM "$job"
until_says 20 "the job was stopped by a signal; it is not requeued"
finishes FAILED

# Its own failure.
submit -- bash -c "exit 3"
until_says 20 "the command failed with exit code 3; not requeued"
finishes FAILED
run plimsoll explain --job "$job"
expect 0 "job $job (script.sh): FAILED, exit code 3:0" "asked for 200M"
run plimsoll explain --job 999999
expect 6 "Slurm knows no job 999999"

# At most --max-requeues.
exec_options="--max-requeues 0"
submit -- ./work.sh
until_says 20 "attempt 0 begins"
scancel --batch --signal=USR1 "$job"
until_says 20 "already restarted 0 times, which is the maximum"
finishes FAILED

# Without scontrol, the exit code that the site requeues.
mkdir -p bare
for program in bash sleep seq cat; do ln -sf "$(command -v $program)" bare/; done
exec_options="--requeue-exit 99"
job_path=$WORK/bare
submit -- ./work.sh
until_says 20 "attempt 0 begins"
scancel --batch --signal=USR1 "$job"
until_says 20 "there is no scontrol here, so it ends with exit code 99"
wait_until 30 is_requeued || fail "RequeueExit does not requeue it: $(state "$job")"
scancel "$job"
exec_options="" job_path=""

# A command on two nodes: srun gets the signal and passes it on to its tasks.
submit --nodes=2 --ntasks=2 -- srun ./work.sh
wait_until 20 sh -c "[ \"\$(grep -c 'attempt 0 begins' $job.log)\" = 2 ]" || fail "the tasks do not begin"
scancel --batch --signal=USR1 "$job"
wait_until 20 sh -c "[ \"\$(grep -c 'checkpoint written' $job.log)\" = 2 ]" || fail "not both tasks: $(cat "$job.log")"
until_says 20 "requeueing $job (restart 1 of at most 20)"
scancel "$job"

# What became of the time limit.
job=$limited
until_says 100 "checkpoint written"
until_says 20 "the job reached its time limit; requeueing $job (restart 1 of at most 20)"
grep -qF "DUE TO TIME LIMIT" "$job.log" || fail "it was not the time limit: $(cat "$job.log")"
wait_until 20 is_requeued || fail "it is $(state "$job")"
scancel "$job"

# Preempted, with a warning: requeued by plimsoll at once. Without one: Slurm has requeued it when plimsoll
# asks.
for warning in --signal=B:USR1@10 --comment=none; do
  submit --partition=main --nodes=2 --ntasks=4 $warning -- ./work.sh
  until_says 20 "attempt 0 begins"
  urgent=$(sbatch --parsable --partition=urgent --nodes=2 --ntasks=4 --mem=100M --output=/dev/null --wrap 'sleep 1')
  until_says 60 "checkpoint written"
  case $warning in
    --signal*) until_says 20 "the job was preempted by a job of higher priority; requeueing $job (restart 1 of" ;;
    *) until_says 20 "plimsoll slurm: the job was requeued by Slurm" ;;
  esac
  wait_until 60 has_ended "$urgent" || fail "the urgent job does not end"
  start_now "$job"
  until_says 60 "attempt 1 begins"
  finishes COMPLETED
done

# Out of memory: submitted again with half as much again, until it is enough or the maximum is reached.
if can_limit_memory; then
  exec_options="--max-mem 320M"
  submit -- /usr/bin/python3 -c "x = bytearray(250 << 20)"
  until_says 30 "submitting it again with 300.0 MiB (restart 1 of at most 20)"
  until_says 30 "submitted as job "
  first=$job
  job=$(sed -n 's/.*submitted as job \([0-9]*\).*/\1/p' "$first.log")
  finishes COMPLETED
  grep -qF "plimsoll slurm: job $job, restarted 1 time, 300.0 MiB of memory" "$job.log" || fail "$(cat "$job.log")"
  submit -- /usr/bin/python3 -c "x = bytearray(2000 << 20)"
  until_says 30 "submitted as job "
  job=$(sed -n 's/.*submitted as job \([0-9]*\).*/\1/p' "$job.log")
  until_says 30 "submitting it again with 320.0 MiB (restart 2 of at most 20)"
  wait_until 10 grep -q "submitted as job" "$job.log" || fail "it was not submitted"
  job=$(sed -n 's/.*submitted as job \([0-9]*\).*/\1/p' "$job.log")
  until_says 30 "--max-mem 320.0 MiB allows no more"
  # A task of an array, as an array of one.
  submit --array=5 -- /usr/bin/python3 -c "x = bytearray(250 << 20)"
  until_says 30 "submitted as job "
  job=$(sed -n 's/.*submitted as job \([0-9]*\).*/\1/p' "$job.log")
  until_says 30 "plimsoll slurm: job ${job}_5, restarted 1 time, 300.0 MiB of memory"
  wait_until 30 has_ended "${job}_5" || fail "task ${job}_5 is still $(state "${job}_5")"
  [ "$(ended "${job}_5")" = COMPLETED ] || fail "task ${job}_5 ended as $(ended "${job}_5")"
else
  echo "not tested here: memory limits, which need cgroups of version 1 and root"
fi

# The job in doctor, and a batch that is continued.
exec_options=""
submit -- "$PLIMSOLL" doctor
until_says 30 "inside job $job, 200.0 MiB of memory"
finishes COMPLETED
echo "all causes are told apart"
