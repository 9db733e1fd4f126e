#include "slurm/requeue.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::slurm {
namespace {

using Action = RequeueDecision::Action;

constexpr double kClockSlackSeconds = 5;  // Slurm checks time limits every few seconds
constexpr int kOutOfMemoryExit = 137;

bool limit_has_passed(const EndFacts& facts, const OwnJob& job) {
  if (facts.record && facts.record->run_seconds && facts.record->limit_seconds) {
    return *facts.record->run_seconds + kClockSlackSeconds >= *facts.record->limit_seconds;
  }
  return job.deadline_seconds && facts.now_seconds + kClockSlackSeconds >= *job.deadline_seconds;
}

// In whole MiB, as --mem takes it.
uint64_t more_memory(uint64_t bytes, uint64_t most_bytes) {
  const auto wanted = static_cast<uint64_t>(kMoreMemory * static_cast<double>(bytes));
  return std::min(wanted, most_bytes) / kMiB * kMiB;
}

std::string shown_restart(const OwnJob& job, const RequeuePolicy& policy) {
  return fmt::format("restart {} of at most {}", job.restarts + 1, policy.max_requeues);
}

RequeueDecision give_up(int exit_code, const std::string& why) {
  return {.action = Action::exit, .exit_code = exit_code, .why = why};
}

RequeueDecision after_memory(const EndFacts& facts, const OwnJob& job,
                             const RequeuePolicy& policy) {
  const int code = facts.exit_code == 0 ? kOutOfMemoryExit : facts.exit_code;
  if (!job.memory_bytes) {
    return give_up(code,
                   "the job ran out of memory, and Slurm does not say how much it has; submit it "
                   "again with a larger --mem");
  }
  const uint64_t has = *job.memory_bytes;
  if (!policy.max_memory_bytes) {
    return give_up(code,
                   fmt::format("the job ran out of its {}; submit it again with --mem={}M, or give "
                               "--max-mem so that this happens by itself",
                               format_bytes(has), more_memory(has, UINT64_MAX) / kMiB));
  }
  const uint64_t wanted = more_memory(has, *policy.max_memory_bytes);
  if (wanted <= has) {
    return give_up(
        code,
        fmt::format("the job ran out of its {}, and --max-mem {} allows no more; the training "
                    "needs a smaller --batch-size or --fanout, or a larger --max-mem",
                    format_bytes(has), format_bytes(*policy.max_memory_bytes)));
  }
  if (!policy.has_scontrol) {
    return give_up(code, fmt::format("the job ran out of its {}, and there is no scontrol here to "
                                     "submit it again; do so with --mem={}M",
                                     format_bytes(has), wanted / kMiB));
  }
  return {.action = Action::submit_again,
          .exit_code = code,
          .memory_bytes = wanted,
          .why = fmt::format("the job ran out of its {}; submitting it again with {} ({})",
                             format_bytes(has), format_bytes(wanted), shown_restart(job, policy))};
}

}  // namespace

std::string_view describe(JobEnd end) {
  switch (end) {
    case JobEnd::finished:
      return "finished";
    case JobEnd::failed:
      return "failed";
    case JobEnd::out_of_memory:
      return "ran out of memory";
    case JobEnd::time_limit:
      return "reached its time limit";
    case JobEnd::preempted:
      return "was preempted by a job of higher priority";
    case JobEnd::requeued:
      return "was requeued by Slurm";
    case JobEnd::cancelled:
      return "was cancelled";
    case JobEnd::stopped:
      return "was stopped by a signal";
  }
  return "";
}

JobEnd end_of(const EndFacts& facts, const OwnJob& job) {
  if (facts.out_of_memory) return JobEnd::out_of_memory;
  if (facts.exit_code == 0) return JobEnd::finished;
  const bool asked = facts.signal != 0 || facts.exit_code == exit_code(ErrorKind::stopped);
  if (!asked) return JobEnd::failed;
  const bool warned = facts.signal == SIGUSR1 || facts.signal == 0;
  if (!facts.record) {
    return warned || limit_has_passed(facts, job) ? JobEnd::time_limit : JobEnd::stopped;
  }
  if (facts.record->restarts > job.requeues) return JobEnd::requeued;
  if (facts.record->preempted || facts.record->state == "PREEMPTED") return JobEnd::preempted;
  if (limit_has_passed(facts, job)) return JobEnd::time_limit;
  if (facts.record->state != "RUNNING") return JobEnd::cancelled;  // it is COMPLETING
  return warned ? JobEnd::time_limit : JobEnd::stopped;
}

RequeueDecision decide(const EndFacts& facts, const OwnJob& job, const RequeuePolicy& policy) {
  const JobEnd end = end_of(facts, job);
  switch (end) {
    case JobEnd::finished:
      return {.exit_code = 0};
    case JobEnd::failed:
      return give_up(facts.exit_code,
                     fmt::format("the command failed with exit code {}; not requeued, because it "
                                 "would fail again",
                                 facts.exit_code));
    case JobEnd::cancelled:
    case JobEnd::stopped:
    case JobEnd::requeued:
      return give_up(facts.exit_code,
                     fmt::format("the job {}{}", describe(end),
                                 end == JobEnd::requeued ? "" : "; it is not requeued"));
    default:
      break;
  }
  if (job.restarts >= policy.max_requeues) {
    return give_up(facts.exit_code == 0 ? kOutOfMemoryExit : facts.exit_code,
                   fmt::format("the job {} and was already restarted {}, which is the maximum; "
                               "submit it again, or raise --max-requeues",
                               describe(end), counted(job.restarts, "time")));
  }
  if (end == JobEnd::out_of_memory) return after_memory(facts, job, policy);
  if (!policy.has_scontrol) {
    return {.action = Action::exit,
            .exit_code = policy.requeue_exit,
            .why = fmt::format("the job {}; there is no scontrol here, so it ends with exit code "
                               "{}, which Slurm requeues if its RequeueExit names this code",
                               describe(end), policy.requeue_exit)};
  }
  return {.action = Action::requeue,
          .exit_code = facts.exit_code,
          .why = fmt::format("the job {}; requeueing {} ({})", describe(end), job.id,
                             shown_restart(job, policy))};
}

}  // namespace plimsoll::slurm
