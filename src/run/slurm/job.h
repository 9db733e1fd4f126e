// A Slurm job as its own processes see it: the variables of its environment, and what `scontrol
// show job` says about it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/host.h"

namespace plimsoll::slurm {

// The number of earlier attempts of a job that was submitted again under a new id. Slurm's own
// count starts at 0 for each id.
constexpr const char* kEarlierRestarts = "PLIMSOLL_SLURM_RESTARTS";

struct OwnJob {
  std::string id;          // "1234"; "1234_7" for a task of an array
  std::string array_task;  // "7"; empty outside of an array
  uint64_t requeues = 0;   // how often Slurm has started this id again: SLURM_RESTART_COUNT
  uint64_t restarts = 0;   // the same, and the attempts under earlier ids
  std::optional<uint64_t> memory_bytes;    // of this node, as the job asked for it
  std::optional<double> deadline_seconds;  // SLURM_JOB_END_TIME: seconds since 1970
};
// Nothing outside of a job.
std::optional<OwnJob> own_job(const Host& host);

// "job 1234_7, restarted 2 times, 4.0 GiB of memory".
std::string describe(const OwnJob& job);

// What the controller knows about a job.
struct JobRecord {
  std::string state;    // "RUNNING", "COMPLETING"
  std::string reason;   // "None", "TimeLimit"
  std::string name;     // of the job
  std::string command;  // the file of its script
  std::string nodes;
  std::string exit_code;   // "0:9": exit code and signal
  uint64_t restarts = 0;   // counts the restart that is under way
  bool preempted = false;  // it has a PreemptTime
  std::optional<double> run_seconds;
  std::optional<double> limit_seconds;  // nothing: unlimited
  std::string memory;                   // as scontrol prints it: "4G"
};
// Of one line of `scontrol show job --oneliner`; nothing if it is another text.
std::optional<JobRecord> parse_record(std::string_view line);

// "1-02:03:04", "02:03:04" or "03:04"; nothing for UNLIMITED and other words.
std::optional<double> parse_elapsed(std::string_view text);

}  // namespace plimsoll::slurm
