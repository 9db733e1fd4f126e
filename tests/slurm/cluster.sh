# Shared by the scripts on a real Slurm, after ../scenario/lib.sh: a cluster of two nodes on this machine,
# with its own folder, ports and authentication. `start_cluster` starts it; it ends with the script, and so do
# its jobs. Partitions: main (preempted by urgent, requeued by Slurm after 5 s), urgent.
# shellcheck shell=sh
for program in munged slurmctld slurmd sbatch; do
  command -v $program >/dev/null || PATH="$PATH:/usr/sbin"
  command -v $program >/dev/null || skip "no $program; scripts/setup.sh slurm installs what these tests need"
done
needs_training
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to compare checkpoints with"

unset $(env | sed -n 's/^\(\(SLURM\|SBATCH\)_[A-Z_]*\)=.*/\1/p')
export SLURM_CONF="$WORK/slurm.conf"
daemons=""

# daemon COMMAND...: in the background; its output goes to cluster.log.
daemon() {
  "$@" >>"$WORK/cluster.log" 2>&1 &
  daemons="$! $daemons"
}

# wait_until SECONDS COMMAND...: polls; its own failure is the caller's to report.
wait_until() {
  tries=$(($1 * 10))
  shift
  until "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.1
  done
}

no_jobs() { [ -z "$(squeue -h)" ]; }

stop_cluster() {
  if [ -n "$daemons" ]; then
    squeue -h -o %A 2>/dev/null | sort -u | while read -r job; do scancel -f "$job"; done 2>/dev/null || true
    wait_until 20 no_jobs || true
  fi
  for daemon in $daemons; do kill "$daemon" 2>/dev/null || true; done
  for daemon in $daemons; do wait "$daemon" 2>/dev/null || true; done
  daemons=""
  # The groups that slurmd makes for the nodes, with cgroups of version 1.
  for group in /sys/fs/cgroup/*/slurm_"$node"?; do
    [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
}
trap 'code=$?; stop_cluster; [ $code -eq 0 ] || [ $code -eq 77 ] || tail -n 40 cluster.log >&2; cleanup; exit $code' EXIT
trap 'exit 143' TERM INT HUP

# Whether slurmd can limit the memory of jobs here: cgroups of version 1 that this user may write.
can_limit_memory() {
  [ "$(id -u)" -eq 0 ] && [ -w /sys/fs/cgroup/memory ] && grep -q '^memory.*1$' /proc/cgroups
}

# start_cluster
start_cluster() {
  node=plimsoll$$x
  user=$(id -un)
  first_port=$((20000 + $$ % 4000 * 10))
  mkdir -p munge state spool log
  chmod 700 munge
  head -c 1024 /dev/urandom >munge/key
  chmod 600 munge/key
  task=task/none
  if can_limit_memory; then
    task=task/cgroup
    cat >cgroup.conf <<CONF
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainRAMSpace=yes
CONF
  fi
  cat >slurm.conf <<CONF
ClusterName=plimsoll
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$first_port
AuthType=auth/munge
AuthInfo=socket=$WORK/munge/socket
CredType=cred/munge
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$WORK/state
SlurmdSpoolDir=$WORK/spool/%n
SlurmctldPidFile=$WORK/slurmctld.pid
SlurmdPidFile=$WORK/slurmd.%n.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=$task
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
KillWait=10
MinJobAge=300
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobRequeue=1
RequeueExit=99
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
NodeName=${node}[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((first_port + 1))-$((first_port + 2)) CPUs=2 RealMemory=4000
PartitionName=main Nodes=${node}[1-2] Default=YES MaxTime=60 PriorityTier=1 GraceTime=5
PartitionName=urgent Nodes=${node}[1-2] MaxTime=60 PriorityTier=10
CONF
  daemon munged --foreground --force --socket="$WORK/munge/socket" --key-file="$WORK/munge/key" \
    --pid-file="$WORK/munge/pid" --log-file="$WORK/munge/log" --seed-file="$WORK/munge/seed"
  wait_until 10 [ -S munge/socket ] || fail "munged does not start"
  daemon slurmctld -D -f "$SLURM_CONF"
  for number in 1 2; do
    mkdir -p "spool/$node$number"
    daemon slurmd -D -f "$SLURM_CONF" -N "$node$number"
  done
  wait_until 20 sh -c "[ \"\$(sinfo -h -t idle -o %D)\" = 2 ]" || fail "the cluster does not start"
}

# state JOB: its state, or nothing.
state() { squeue -h -j "$1" -o %T 2>/dev/null || true; }
is_in_state() { [ "$(state "$1")" = "$2" ]; }
# A job that was requeued waits for a minute or two before it may start. Tests wait for less: slurmd refuses a
# job that it ended within the same second.
start_now() {
  sleep 2
  scontrol update JobId="$1" StartTime=now 2>/dev/null || true
}

# ended JOB: what Slurm says about a job that has ended.
ended() { scontrol show job -o "$1" 2>/dev/null | grep -o 'JobState=[A-Z_]*' | cut -d= -f2; }
has_ended() {
  case $(ended "$1") in COMPLETED | FAILED | CANCELLED | TIMEOUT | OUT_OF_MEMORY | PREEMPTED) return 0 ;; esac
  return 1
}
