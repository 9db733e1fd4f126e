// What to do when the command of a Slurm job has ended: nothing, put the job back into the queue,
// or submit it again with more memory. Pure; slurm_command.h runs the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "slurm/job.h"

namespace plimsoll::slurm {

// A job that ran out of memory asks for this many times as much.
constexpr double kMoreMemory = 1.5;

// Why the command ended.
enum class JobEnd {
  finished,
  failed,         // by itself; running it again would not help
  out_of_memory,  // by the job's limit or the node's OOM killer
  time_limit,     // the warning before it (--signal), or the limit itself
  preempted,      // for a job of higher priority
  requeued,       // Slurm already puts it back into the queue
  cancelled,      // scancel
  stopped,        // a signal from somebody else
};
std::string_view describe(JobEnd end);  // follows "the job": "was cancelled"

struct EndFacts {
  int exit_code = 0;           // of the command
  bool out_of_memory = false;  // by diagnosis
  int signal = 0;              // the first that asked the job to stop: SIGUSR1, SIGTERM; 0 = none
  std::optional<JobRecord> record;  // read after the command has ended; nothing without scontrol
  double now_seconds = 0;           // since 1970
};
JobEnd end_of(const EndFacts& facts, const OwnJob& job);

struct RequeuePolicy {
  uint64_t max_requeues = 20;
  std::optional<uint64_t> max_memory_bytes;  // nothing: the memory is never raised
  bool has_scontrol = true;
  // If there is no scontrol: the exit code that the site's RequeueExit names.
  int requeue_exit = 9;
};

struct RequeueDecision {
  enum class Action { exit, requeue, submit_again };
  Action action = Action::exit;
  int exit_code = 0;          // of the job, if it ends now or the action fails
  uint64_t memory_bytes = 0;  // with submit_again
  std::string why;            // one line for the log of the job
};
RequeueDecision decide(const EndFacts& facts, const OwnJob& job, const RequeuePolicy& policy);

}  // namespace plimsoll::slurm
