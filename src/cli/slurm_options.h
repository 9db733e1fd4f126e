// The options of `plimsoll slurm`: what a job asks Slurm for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slurm/requeue.h"
#include "slurm/script.h"

namespace plimsoll::cli {

struct SlurmOptions {
  std::string job_name;
  std::string account;
  std::string partition;
  std::string constraint;
  std::optional<double> seconds;
  std::optional<uint64_t> memory_bytes;
  std::optional<unsigned> cpus;
  std::optional<unsigned> gpus;
  std::vector<std::string> sbatch;
  slurm::RequeuePolicy policy;
  bool no_mem = false;
  bool submit = false;
};

constexpr const char* kSlurm = "Slurm";

// --max-requeues and --max-mem.
void add_requeue_options(CLI::App& command, slurm::RequeuePolicy& policy);
void add_slurm_options(CLI::App& command, SlurmOptions& options);

// What the user asks sbatch for, --account and the like first. Throws Error{usage}.
std::vector<slurm::SbatchOption> sbatch_options(const SlurmOptions& options);

// The words of `plimsoll slurm exec` with its options, up to the command itself, for a shell.
std::vector<std::string> slurm_exec_words(const slurm::RequeuePolicy& policy);

// The path of this program, quoted for a shell on another node.
std::string program_word();

// The options that the user gave to a command, quoted for a shell, in their order; without those
// under the heading Slurm and those named.
std::vector<std::string> given_words(const CLI::App& command,
                                     const std::vector<std::string>& left_out);

}  // namespace plimsoll::cli
