// Experiments as steps of a Slurm job: inside an allocation, `srun` places each of them on CPUs and
// memory of its own, on any node of the job. The driver and its journal stay one process. Pure,
// except for the variables and the search for srun, which a test replaces through Host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host.h"

namespace plimsoll::experiment {

// What each of the experiments that run at once gets.
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

// The words before `plimsoll exec`. `memory_bytes`: the experiment's own limit, if it has one; the
// step then also has room for exec itself.
std::vector<std::string> step_words(const SlurmSteps& steps, std::optional<uint64_t> memory_bytes);

}  // namespace plimsoll::experiment
