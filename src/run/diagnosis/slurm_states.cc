#include <algorithm>
#include <array>
#include <cctype>

#include "base/host.h"
#include "diagnosis/explain.h"

namespace plimsoll::diagnosis {
namespace {

constexpr std::string_view kCancelledBy = "CANCELLED BY ";
constexpr size_t kLeastCutLetters = 4;  // of a name that ends with '+'

struct StateCause {
  const char* what = nullptr;
  const char* next_step = nullptr;
};
using StateCauses = std::array<StateCause, 3>;  // the likeliest first; the rest are empty

struct StateRow {
  SlurmState state;
  StateCauses causes;
};

// What several states have in common.
constexpr StateCauses kNotLaunched = {
    {{"the prolog of a node failed, or the node could not be configured",
      "sacct -j JOB --format=JobID,State,ExitCode,NodeList; submit again with --exclude=NODE; tell "
      "the administrators"},
     {"the script's folder or the user is unknown on the node",
      "srun --nodelist=NODE ls -d FOLDER; id"}}};
constexpr StateCauses kStarting = {{{"its nodes are starting or running their prolog",
                                     "wait some minutes; then scontrol show node NODE"}}};
constexpr StateCauses kRequeued = {
    {{"a node failed, it was preempted, or scontrol requeue was used",
      "nothing: it starts again with the same job id; SLURM_RESTART_COUNT tells the script, and "
      "--open-mode=append keeps its output"}}};
constexpr StateCauses kHeld = {
    {{"its launch failed, or the cluster's epilog reacted to its exit code: it waits until a "
      "person releases it",
      "scontrol show job JOB; then scontrol release JOB, or scancel JOB"}}};

// Names and meanings come from Slurm's manual, the causes and remedies are ours.
constexpr StateRow kStates[] = {
    {{"BOOT_FAIL", "BF", "was ended because a node did not start"},
     {{{"a node did not start, or its prolog failed",
        "sacct -j JOB --format=JobID,State,ExitCode,NodeList; submit again with --exclude=NODE; "
        "tell the administrators"}}}},
    {{"CANCELLED", "CA", "was cancelled by its user or an administrator"},
     {{{"somebody used scancel: the user whose number follows 'by', 0 for root",
        "getent passwd UID; sacct -j JOB --format=State%30,Elapsed"},
       {"a job that it depends on failed (--kill-on-invalid-dep)",
        "sacct -j JOB --format=State%30,Start; the job in its --dependency"},
       {"srun was interrupted with Ctrl-C, or its terminal closed",
        "sbatch instead of srun for long work"}}}},
    {{"COMPLETED", "CD", "ended with exit code 0 on all its nodes"},
     {{{"nothing went wrong, as far as its exit code tells",
        "in a pipe only the last command's code counts: set -o pipefail"}}}},
    {{"CONFIGURING", "CF", "has its nodes and waits until they are ready"}, kStarting},
    {{"COMPLETING", "CG", "is ending; some of its processes may still run"},
     {{{"its processes or its epilog need time to end", "nothing for some minutes"},
       {"a process hangs in the kernel, often in a read of a network disk",
        "tell the administrators, with the node: scontrol show job JOB"}}}},
    {{"DEADLINE", "DL", "was ended at its --deadline"},
     {{{"its --deadline passed before it ended",
        "a later --deadline, a shorter --time, or no --deadline"}}}},
    {{"EXPEDITING", "", "was requeued and starts before other jobs"}, kRequeued},
    {{"FAILED", "F", "ended with an exit code other than 0, or failed otherwise"},
     {{{"its script or a command in it failed",
        "sacct -j JOB --format=JobID,State,ExitCode; then plimsoll explain with that code, as 1:0"},
       {"the script could not start: its folder, interpreter or output file",
        "the file of #SBATCH --output; a job with no output at all could not write it"}}}},
    {{"LAUNCH_FAILED", "", "could not be launched on its nodes"}, kNotLaunched},
    {{"NODE_FAIL", "NF", "was ended because one of its nodes failed"},
     {{{"a node crashed, was restarted, or lost its network",
        "sacct -j JOB --format=JobID,State,ExitCode,NodeList; submit again with --exclude=NODE, or "
        "--requeue"},
       {"a node ran out of memory as a whole and stopped answering",
        "--mem, so that Slurm limits the job before the node fails"}}}},
    {{"OUT_OF_MEMORY", "OOM", "ran out of memory: the kernel killed a process of it"},
     {{{"the job, or one step of it, needed more than its --mem or --mem-per-cpu",
        "a larger --mem, a smaller batch, fewer data loader workers; plimsoll exec --log run.log "
        "-- "
        "COMMAND shows the true peak (sacct's MaxRSS is a sample every 30 s)"},
       {"files in /dev/shm or another tmpfs: they count as memory of the job",
        "fewer workers, or temporary files on a disk"},
       {"no --mem was given, and the partition's default is small",
        "scontrol show partition NAME | grep -i mem; then --mem"}}}},
    {{"PENDING", "PD", "waits for resources and has not started"},
     {{{"too few free nodes, CPUs or GPUs, or jobs of higher priority",
        "squeue -j JOB -o '%T %r', whose last word is the reason; squeue -j JOB --start gives the "
        "expected time"},
       {"a limit of the user, account or QOS, or a dependency",
        "squeue -j JOB -o '%T %r', whose last word is the reason"},
       {"it asks for more than any node has, and will never start",
        "sinfo -o '%P %c %m %G %l', against the job's own request"}}}},
    {{"POWER_UP_NODE", "", "has nodes that are switched on for it"}, kStarting},
    {{"PREEMPTED", "PR", "was ended to make room for a job of higher priority"},
     {{{"it ran in a partition or QOS whose jobs can be preempted",
        "--requeue and checkpoints (plimsoll train --resume), or a partition without preemption: "
        "scontrol show config | grep -i preempt"}}}},
    {{"RECONFIG_FAIL", "", "failed because its nodes could not be configured"}, kNotLaunched},
    {{"RUNNING", "R", "has its nodes and runs"},
     {{{"nothing is wrong",
        "sstat -j JOB --format=JobID,MaxRSS,AveCPU; squeue -j JOB -o '%L' shows the time that is "
        "left"}}}},
    {{"RESV_DEL_HOLD", "RD", "is held because its reservation was deleted"},
     {{{"the reservation that it requested was deleted",
        "scontrol update JobId=JOB Reservation=OTHER; then scontrol release JOB"}}}},
    {{"REQUEUE_FED", "RF", "is being requeued by a federation of clusters"}, kRequeued},
    {{"REQUEUE_HOLD", "RH", "was requeued and is held"}, kHeld},
    {{"REQUEUED", "RQ", "was put back into the queue and will start again"}, kRequeued},
    {{"RESIZING", "RS", "is about to change its number of nodes"},
     {{{"scontrol update NumNodes was used", "nothing: it continues"}}}},
    {{"REVOKED", "RV", "was removed here because another cluster started it"},
     {{{"it was submitted to several clusters, and another one runs it",
        "nothing; squeue --federation shows where it runs"}}}},
    {{"SIGNALING", "SI", "is being sent a signal"},
     {{{"scancel --signal or its own --signal is being delivered", "nothing"}}}},
    {{"SPECIAL_EXIT", "SE", "was requeued in a special state after a certain exit code"}, kHeld},
    {{"STAGE_OUT", "SO", "is copying its files out of the burst buffer"},
     {{{"its files are being copied to the permanent file system",
        "wait; scontrol show burstbuffer"}}}},
    {{"STOPPED", "ST", "was stopped with SIGSTOP and keeps its CPUs"},
     {{{"somebody sent it SIGSTOP", "scancel -s CONT JOB"}}}},
    {{"SUSPENDED", "S", "was suspended, and other jobs have its CPUs"},
     {{{"a job of higher priority has its CPUs (gang scheduling), or scontrol suspend was used",
        "nothing: it will continue; its memory stays in use, and its time limit waits"}}}},
    {{"TIMEOUT", "TO", "reached its time limit and was ended"},
     {{{"its work takes longer than its --time",
        "a longer --time, up to the partition's limit: sinfo -o '%P %l'"},
       {"it hung, and the time limit was the first to notice",
        "plimsoll exec --idle-timeout 15m -- COMMAND, which says where it hangs"},
       {"it saves no checkpoints, so each attempt starts from the beginning",
        "--signal=B:USR1@120 and a checkpoint; plimsoll train --resume FOLDER"}}}},
    {{"UPDATE_DB", "", "is being recorded in the accounting database"},
     {{{"slurmctld reports the job's end to slurmdbd", "nothing; sacct knows it in a moment"}}}}};

std::string in_capitals(std::string_view text) {
  std::string capitals(text);
  std::ranges::transform(capitals, capitals.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  return capitals;
}

std::optional<SlurmState> state_cut_to(std::string_view start) {
  std::optional<SlurmState> found;
  if (start.size() < kLeastCutLetters) return found;
  for (const StateRow& row : kStates) {
    if (!row.state.name.starts_with(start)) continue;
    if (found) return {};
    found = row.state;
  }
  return found;
}

}  // namespace

std::optional<SlurmState> slurm_state(std::string_view text) {
  const std::string word = in_capitals(text);
  if (word.empty()) return {};  // some states have no brief name
  if (word.ends_with('+')) return state_cut_to(std::string_view(word).substr(0, word.size() - 1));
  const std::string_view name =
      word.starts_with(kCancelledBy) ? std::string_view("CANCELLED") : std::string_view(word);
  for (const StateRow& row : kStates) {
    if (name == row.state.name || name == row.state.brief) return row.state;
  }
  return {};
}

std::vector<std::string> slurm_state_names() {
  std::vector<std::string> names;
  for (const StateRow& row : kStates) names.emplace_back(row.state.name);
  return names;
}

std::vector<LikelyCause> causes_of_state(const SlurmState& state, const Circumstances& now) {
  constexpr int kFirstWeight = 50;
  constexpr int kWeightStep = 10;
  const auto* const row = std::ranges::find_if(
      kStates, [&](const StateRow& one) { return one.state.name == state.name; });
  std::vector<LikelyCause> causes;
  int weight = kFirstWeight;
  for (const StateCause& cause : row->causes) {
    if (cause.what == nullptr) break;
    causes.push_back({weight, cause.what, "", cause.next_step});
    weight -= kWeightStep;
  }
  if (state.name == "OUT_OF_MEMORY" && now.in_slurm) {
    causes.front().evidence = describe_memory(now);
  }
  return causes;
}

}  // namespace plimsoll::diagnosis
