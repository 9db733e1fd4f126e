#include "experiment/slurm_steps.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/units.h"

namespace plimsoll::experiment {
namespace {

constexpr uint64_t kExecBytes = 64 * kMiB;  // exec and its keeper, generously

std::optional<uint64_t> whole_variable(const Host& host, const char* name) {
  const auto text = host.variable(name);
  uint64_t number = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && number > 0 ? std::optional(number) : std::nullopt;
}

std::string program_in_path(const Host& host, const std::string& name) {
  std::istringstream folders(host.variable("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file.string();
  }
  return "";
}

}  // namespace

std::optional<SlurmSteps> slurm_steps(unsigned at_once, std::optional<unsigned> gpus_each,
                                      const Host& host) {
  const auto job = host.variable("SLURM_JOB_ID");
  if (!job) return std::nullopt;
  SlurmSteps steps{.srun = program_in_path(host, "srun"), .job = *job};
  if (steps.srun.empty()) return std::nullopt;
  const uint64_t share = std::max(1U, at_once);
  const uint64_t nodes = whole_variable(host, "SLURM_JOB_NUM_NODES").value_or(1);
  const uint64_t cpus = whole_variable(host, "SLURM_CPUS_ON_NODE").value_or(1);
  steps.nodes = static_cast<unsigned>(nodes);
  // A step does not span nodes.
  steps.cpus = static_cast<unsigned>(std::clamp<uint64_t>(nodes * cpus / share, 1, cpus));
  if (const auto per_node = whole_variable(host, "SLURM_MEM_PER_NODE")) {
    steps.memory_bytes = std::min(*per_node, nodes * *per_node / share) * kMiB;
  } else if (const auto per_cpu = whole_variable(host, "SLURM_MEM_PER_CPU")) {
    steps.memory_bytes = *per_cpu * steps.cpus * kMiB;
  }
  if (host.variable("SLURM_GPUS_ON_NODE") || host.variable("SLURM_JOB_GPUS")) {
    steps.gpus = gpus_each.value_or(1);
  }
  return steps;
}

std::vector<std::string> step_words(const SlurmSteps& steps, std::optional<uint64_t> memory_bytes) {
  std::vector<std::string> words = {steps.srun,
                                    "--exclusive",
                                    "--nodes=1",
                                    "--ntasks=1",
                                    fmt::format("--cpus-per-task={}", steps.cpus),
                                    "--export=ALL",
                                    "--input=none",
                                    "--quiet"};
  if (steps.memory_bytes) {
    const uint64_t bytes = memory_bytes ? *memory_bytes + kExecBytes : *steps.memory_bytes;
    words.push_back(fmt::format("--mem={}M", bytes / kMiB));
  }
  if (steps.gpus > 0) words.push_back(fmt::format("--gpus={}", steps.gpus));
  return words;
}

}  // namespace plimsoll::experiment
