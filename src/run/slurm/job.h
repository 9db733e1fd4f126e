// A Slurm job: as its own processes see it (variables of the environment), with the steps that they
// may start; as the controller describes it (`scontrol show job`), and as the accounting does
// (`sacct`). Pure, except for the variables and the search for srun, which a test replaces through
// Host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
// Parses one line of `scontrol show job --oneliner`; nothing if it is another text.
std::optional<JobRecord> parse_record(std::string_view line);

// "1-02:03:04", "02:03:04" or "03:04"; nothing for UNLIMITED and other words.
std::optional<double> parse_elapsed(std::string_view text);

// The steps of a job: inside an allocation, `srun` places each of them on CPUs and memory of its
// own, on any node of the job. These are the shares of each of the steps that run at once.
struct SlurmSteps {
  std::string srun;                      // its path
  std::string job;                       // the id
  unsigned nodes = 1;                    // of the job
  unsigned cpus = 1;                     // of each step
  unsigned gpus = 0;                     // of each step
  std::optional<uint64_t> memory_bytes;  // of each step; nothing if Slurm does not say
};

// Nothing outside of an allocation, or without srun. Divides the job's CPUs and memory among
// `at_once` steps.
std::optional<SlurmSteps> slurm_steps(unsigned at_once, std::optional<unsigned> gpus_each,
                                      const Host& host = Host::real());

// The words before `plimsoll exec`. `memory_bytes`: the command's own limit, if it has one; the
// step then also has room for exec itself.
std::vector<std::string> step_words(const SlurmSteps& steps, std::optional<uint64_t> memory_bytes);

// The words of the sacct command whose output parse_account() reads.
std::vector<std::string> account_command(const std::string& job_id);

// What the accounting says about the last attempt of a job.
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
  // The step that decided, if the job itself only says FAILED or COMPLETED: the first one that ran
  // out of memory or was ended by a signal.
  std::string step;
  std::string step_state;
  std::string step_exit_code;
  uint64_t restarts = 0;
};

// Parses the lines that account_command() prints; nothing if they have no job.
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
