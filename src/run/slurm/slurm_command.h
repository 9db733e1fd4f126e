// Runs Slurm's own commands: scontrol, sbatch and sacct.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm/job.h"

namespace plimsoll::slurm {

struct CommandAnswer {
  bool good = false;   // it exited with 0
  std::string output;  // both streams, at most 1 MiB
};

// Waits for at most 30 s: a command whose controller does not answer is ended then.
CommandAnswer ask_slurm(const std::vector<std::string>& words, const std::string& input = "");

// The controller's record of a job; nothing if there is no scontrol, or it does not know the job.
std::optional<JobRecord> read_record(const std::string& job_id);

// How a job ended: from the accounting, or from the controller, which remembers a job for some
// minutes. Throws Error{usage} if the id is not one, Error{io} if Slurm does not know the job.
JobAccount read_account(const std::string& job_id);

// Puts a running job back into the queue, under the same id. Slurm then ends its processes.
CommandAnswer requeue(const std::string& job_id);

// Submits the script of a job again, with this memory. An array task is submitted as an array of
// one.
CommandAnswer submit_again(const OwnJob& job, uint64_t memory_bytes);

// Submits a script and returns the id of its job. Throws Error{io} if there is no sbatch, or if it
// refuses the script.
std::string submit(const std::string& script);

}  // namespace plimsoll::slurm
