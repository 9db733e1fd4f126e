// What Slurm's accounting (sacct) says about a job. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/job.h"

namespace plimsoll::slurm {

// The words of the sacct command whose output parse_account() reads.
std::vector<std::string> account_command(const std::string& job_id);

// The last attempt of a job.
struct JobAccount {
  std::string id;
  std::string name;
  std::string state;      // "CANCELLED by 1000"
  std::string exit_code;  // "0:9": exit code and signal
  std::string nodes;
  std::string memory;  // what it asked for: "4G"
  std::optional<double> run_seconds;
  std::optional<double> limit_seconds;
  uint64_t sampled_peak_bytes = 0;  // MaxRSS: the largest of its steps; 0 = not sampled
  // Of the step that decided, if the job itself only says FAILED or COMPLETED: the first one that
  // was out of memory or ended by a signal.
  std::string step;
  std::string step_state;
  std::string step_exit_code;
  uint64_t restarts = 0;
};

// Of the lines that account_command() prints; nothing if they have no job.
std::optional<JobAccount> parse_account(std::string_view text);

// The same, as far as the controller knows it; for sites without accounting.
JobAccount account_of(const std::string& id, const JobRecord& record);

// "job 1234 (papers): OUT_OF_MEMORY, exit code 0:125\n  ran 41 s of 1 h 00 min on node1; ...".
std::string describe(const JobAccount& account);

// What to explain: the state, or the exit code if the state says no more than FAILED.
std::string decisive_code(const JobAccount& account);

// For a job that ran out of memory: what to ask for next, half as much again. Nothing for others,
// and if what it had is not known.
std::optional<uint64_t> memory_to_ask_for(const JobAccount& account);

}  // namespace plimsoll::slurm
