#include <algorithm>
#include <array>
#include <cctype>

#include "diagnosis/explain.h"

namespace plimsoll::diagnosis {
namespace {

constexpr std::string_view kCancelledBy = "CANCELLED BY ";
constexpr size_t kLeastCutLetters = 4;  // of a name that ends with '+'

constexpr std::array kStates = {
    SlurmState{"BOOT_FAIL", "BF", "was ended because a node did not start"},
    SlurmState{"CANCELLED", "CA", "was cancelled by its user or an administrator"},
    SlurmState{"COMPLETED", "CD", "ended with exit code 0 on all its nodes"},
    SlurmState{"CONFIGURING", "CF", "has its nodes and waits until they are ready"},
    SlurmState{"COMPLETING", "CG", "is ending; some of its processes may still run"},
    SlurmState{"DEADLINE", "DL", "was ended at its --deadline"},
    SlurmState{"EXPEDITING", "", "was requeued and starts before other jobs"},
    SlurmState{"FAILED", "F", "ended with an exit code other than 0, or failed otherwise"},
    SlurmState{"LAUNCH_FAILED", "", "could not be launched on its nodes"},
    SlurmState{"NODE_FAIL", "NF", "was ended because one of its nodes failed"},
    SlurmState{"OUT_OF_MEMORY", "OOM", "ran out of memory: the kernel killed a process of it"},
    SlurmState{"PENDING", "PD", "waits for resources and has not started"},
    SlurmState{"POWER_UP_NODE", "", "has nodes that are switched on for it"},
    SlurmState{"PREEMPTED", "PR", "was ended to make room for a job of higher priority"},
    SlurmState{"RECONFIG_FAIL", "", "failed because its nodes could not be configured"},
    SlurmState{"RUNNING", "R", "has its nodes and runs"},
    SlurmState{"RESV_DEL_HOLD", "RD", "is held because its reservation was deleted"},
    SlurmState{"REQUEUE_FED", "RF", "is being requeued by a federation of clusters"},
    SlurmState{"REQUEUE_HOLD", "RH", "was requeued and is held"},
    SlurmState{"REQUEUED", "RQ", "was put back into the queue and will start again"},
    SlurmState{"RESIZING", "RS", "is about to change its number of nodes"},
    SlurmState{"REVOKED", "RV", "was removed here because another cluster started it"},
    SlurmState{"SIGNALING", "SI", "is being sent a signal"},
    SlurmState{"SPECIAL_EXIT", "SE", "was requeued in a special state after a certain exit code"},
    SlurmState{"STAGE_OUT", "SO", "is copying its files out of the burst buffer"},
    SlurmState{"STOPPED", "ST", "was stopped with SIGSTOP and keeps its CPUs"},
    SlurmState{"SUSPENDED", "S", "was suspended, and other jobs have its CPUs"},
    SlurmState{"TIMEOUT", "TO", "reached its time limit and was ended"},
    SlurmState{"UPDATE_DB", "", "is being recorded in the accounting database"}};

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
  for (const SlurmState& state : kStates) {
    if (!state.name.starts_with(start)) continue;
    if (found) return {};
    found = state;
  }
  return found;
}

using Causes = std::vector<LikelyCause>;

LikelyCause cause(int weight, const char* what, std::string next_step, std::string evidence = "") {
  return {weight, what, std::move(evidence), std::move(next_step)};
}

constexpr int kFirst = 50;
constexpr int kSecond = 40;
constexpr int kThird = 30;

constexpr const char* kWhichNode = "sacct -j JOB --format=JobID,State,ExitCode,NodeList";
constexpr const char* kExitCode =
    "sacct -j JOB --format=JobID,State,ExitCode; then plimsoll explain with that code, as 1:0";
constexpr const char* kReason = "squeue -j JOB -o '%T %r', whose last word is the reason";

Causes causes_of_memory(const Circumstances& now) {
  return {cause(kFirst, "the job, or one step of it, needed more than its --mem or --mem-per-cpu",
                "a larger --mem, a smaller batch, fewer data loader workers; plimsoll exec --log "
                "run.log -- COMMAND shows the true peak (sacct's MaxRSS is a sample every 30 s)",
                now.in_slurm ? describe_memory(now) : ""),
          cause(kSecond, "files in /dev/shm or another tmpfs: they count as memory of the job",
                "fewer workers, or temporary files on a disk"),
          cause(kThird, "no --mem was given, and the partition's default is small",
                "scontrol show partition NAME | grep -i mem; then --mem")};
}

Causes causes_of_ended_job(std::string_view name, const Circumstances& now) {
  if (name == "OUT_OF_MEMORY") return causes_of_memory(now);
  if (name == "TIMEOUT") {
    return {cause(kFirst, "its work takes longer than its --time",
                  "a longer --time, up to the partition's limit: sinfo -o '%P %l'"),
            cause(kSecond, "it hung, and the time limit was the first to notice",
                  "plimsoll exec --idle-timeout 15m -- COMMAND, which says where it hangs"),
            cause(kThird, "it saves no checkpoints, so each attempt starts from the beginning",
                  "--signal=B:USR1@120 and a checkpoint; plimsoll train --resume FOLDER")};
  }
  if (name == "CANCELLED") {
    return {cause(kFirst, "somebody used scancel: the user whose number follows 'by', 0 for root",
                  "getent passwd UID; sacct -j JOB --format=State%30,Elapsed"),
            cause(kSecond, "a job that it depends on failed (--kill-on-invalid-dep)",
                  "sacct -j JOB --format=State%30,Start; the job in its --dependency"),
            cause(kThird, "srun was interrupted with Ctrl-C, or its terminal closed",
                  "sbatch instead of srun for long work")};
  }
  if (name == "FAILED") {
    return {cause(kFirst, "its script or a command in it failed", kExitCode),
            cause(kSecond, "the script could not start: its folder, interpreter or output file",
                  "the file of #SBATCH --output; a job with no output at all could not write it")};
  }
  if (name == "NODE_FAIL") {
    return {cause(kFirst, "a node crashed, was restarted, or lost its network",
                  std::string(kWhichNode) + "; submit again with --exclude=NODE, or --requeue"),
            cause(kSecond, "a node ran out of memory as a whole and stopped answering",
                  "--mem, so that Slurm limits the job before the node fails")};
  }
  if (name == "LAUNCH_FAILED" || name == "RECONFIG_FAIL") {
    return {cause(kFirst, "the prolog of a node failed, or the node could not be configured",
                  std::string(kWhichNode) + "; submit again with --exclude=NODE; tell the "
                                            "administrators"),
            cause(kSecond, "the script's folder or the user is unknown on the node",
                  "srun --nodelist=NODE ls -d FOLDER; id")};
  }
  if (name == "BOOT_FAIL") {
    return {cause(kFirst, "a node did not start, or its prolog failed",
                  std::string(kWhichNode) + "; submit again with --exclude=NODE; tell the "
                                            "administrators")};
  }
  if (name == "DEADLINE") {
    return {cause(kFirst, "its --deadline passed before it ended",
                  "a later --deadline, a shorter --time, or no --deadline")};
  }
  if (name == "PREEMPTED") {
    return {cause(kFirst, "it ran in a partition or QOS whose jobs can be preempted",
                  "--requeue and checkpoints (plimsoll train --resume), or a partition without "
                  "preemption: scontrol show config | grep -i preempt")};
  }
  if (name == "REVOKED") {
    return {cause(kFirst, "it was submitted to several clusters, and another one runs it",
                  "nothing; squeue --federation shows where it runs")};
  }
  return {};
}

Causes causes_of_waiting_job(std::string_view name) {
  if (name == "PENDING") {
    return {cause(kFirst, "too few free nodes, CPUs or GPUs, or jobs of higher priority",
                  std::string(kReason) + "; squeue -j JOB --start gives the expected time"),
            cause(kSecond, "a limit of the user, account or QOS, or a dependency", kReason),
            cause(kThird, "it asks for more than any node has, and will never start",
                  "sinfo -o '%P %c %m %G %l', against the job's own request")};
  }
  if (name == "CONFIGURING" || name == "POWER_UP_NODE") {
    return {cause(kFirst, "its nodes are starting or running their prolog",
                  "wait some minutes; then scontrol show node NODE")};
  }
  if (name == "REQUEUED" || name == "REQUEUE_FED" || name == "EXPEDITING") {
    return {cause(kFirst, "a node failed, it was preempted, or scontrol requeue was used",
                  "nothing: it starts again with the same job id; SLURM_RESTART_COUNT tells the "
                  "script, and --open-mode=append keeps its output")};
  }
  if (name == "REQUEUE_HOLD" || name == "SPECIAL_EXIT") {
    return {cause(kFirst,
                  "its launch failed, or the cluster's epilog reacted to its exit code: it waits "
                  "until a person releases it",
                  "scontrol show job JOB; then scontrol release JOB, or scancel JOB")};
  }
  if (name == "RESV_DEL_HOLD") {
    return {cause(kFirst, "the reservation that it requested was deleted",
                  "scontrol update JobId=JOB Reservation=OTHER; then scontrol release JOB")};
  }
  return {};
}

Causes causes_of_live_job(std::string_view name) {
  if (name == "COMPLETED") {
    return {cause(kFirst, "nothing went wrong, as far as its exit code tells",
                  "in a pipe only the last command's code counts: set -o pipefail")};
  }
  if (name == "RUNNING") {
    return {cause(kFirst, "nothing is wrong",
                  "sstat -j JOB --format=JobID,MaxRSS,AveCPU; squeue -j JOB -o '%L' shows the time "
                  "that is left")};
  }
  if (name == "COMPLETING") {
    return {
        cause(kFirst, "its processes or its epilog need time to end", "nothing for some minutes"),
        cause(kSecond, "a process hangs in the kernel, often in a read of a network disk",
              "tell the administrators, with the node: scontrol show job JOB")};
  }
  if (name == "SUSPENDED") {
    return {cause(kFirst,
                  "a job of higher priority has its CPUs (gang scheduling), or scontrol "
                  "suspend was used",
                  "nothing: it will continue; its memory stays in use, and its time limit waits")};
  }
  if (name == "STOPPED") {
    return {cause(kFirst, "somebody sent it SIGSTOP", "scancel -s CONT JOB")};
  }
  if (name == "UPDATE_DB") {
    return {cause(kFirst, "slurmctld reports the job's end to slurmdbd",
                  "nothing; sacct knows it "
                  "in a moment")};
  }
  if (name == "SIGNALING") {
    return {cause(kFirst, "scancel --signal or its own --signal is being delivered", "nothing")};
  }
  if (name == "STAGE_OUT") {
    return {cause(kFirst, "its files are being copied to the permanent file system",
                  "wait; scontrol show burstbuffer")};
  }
  if (name == "RESIZING") {
    return {cause(kFirst, "scontrol update NumNodes was used", "nothing: it continues")};
  }
  return {};
}

}  // namespace

std::optional<SlurmState> slurm_state(std::string_view text) {
  const std::string word = in_capitals(text);
  if (word.empty()) return {};  // some states have no brief name
  if (word.ends_with('+')) return state_cut_to(std::string_view(word).substr(0, word.size() - 1));
  const std::string_view name =
      word.starts_with(kCancelledBy) ? std::string_view("CANCELLED") : std::string_view(word);
  const auto* const found = std::ranges::find_if(
      kStates, [&](const SlurmState& state) { return name == state.name || name == state.brief; });
  return found == kStates.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> slurm_state_names() {
  std::vector<std::string> names;
  names.reserve(kStates.size());
  for (const SlurmState& state : kStates) names.emplace_back(state.name);
  return names;
}

std::vector<LikelyCause> causes_of_state(const SlurmState& state, const Circumstances& now) {
  Causes causes = causes_of_ended_job(state.name, now);
  if (causes.empty()) causes = causes_of_waiting_job(state.name);
  return causes.empty() ? causes_of_live_job(state.name) : causes;
}

}  // namespace plimsoll::diagnosis
