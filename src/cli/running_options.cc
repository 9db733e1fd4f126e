#include "cli/running_options.h"

#include "base/error.h"
#include "cli/arguments.h"
#include "gate/gate.h"
#include "ranks/rank_place.h"

namespace plimsoll::cli {
namespace {

constexpr unsigned kMostWorkers = 4096;
constexpr unsigned kMostWindow = 1'000'000;
constexpr double kLeastRankMinutes = 0.01;
constexpr double kMostRankMinutes = 100'000;

// torch's cuda:0 is the first GPU that a process sees, and the one that cuda takes. Several ranks
// take one each.
std::string spell_device(std::string& word) {
  if (word == "cuda:0" || word == "gpu") word = "cuda";
  if (!word.starts_with("cuda:")) return {};
  const std::string number = word.substr(word.find(':') + 1);
  fail(
      ErrorKind::usage,
      "--device {}: choose the GPU by the variable CUDA_VISIBLE_DEVICES={}, and give --device cuda",
      word, number);
}

}  // namespace

void add_device_options(CLI::App& command, launch::RunningOptions& options) {
  train::LaunchOptions& run = options.run;
  using train::DeviceKind;
  add_choice(command, "--device", run.device,
             {DeviceKind::automatic, DeviceKind::cpu, DeviceKind::cuda},
             "where to compute; auto takes a GPU if there is one")
      ->transform(CLI::Validator(spell_device, ""))
      ->group(kResources);
  command
      .add_option(spellings("--workers", {"num-workers"}), run.workers,
                  "threads that make batches; they share one copy of the graph; 0 = chosen by the "
                  "plan")
      ->check(whole_number(0, kMostWorkers))
      ->type_name("N")
      ->capture_default_str()
      ->group(kResources);
  command
      .add_option("--window", run.window,
                  "number of batches whose rows are read from disk together, in the order of the "
                  "file; 1 = each batch reads for itself, 0 = chosen by the plan")
      ->check(whole_number(0, kMostWindow))
      ->type_name("N")
      ->capture_default_str()
      ->group(kResources);
  add_threads(command, run.threads)->each([&options](const std::string&) {
    options.threads_given = true;
  });
}

void add_ranks(CLI::App& command, unsigned& ranks) {
  command
      .add_option(
          "--ranks", ranks,
          "work in N processes on this machine, which cut every batch among them; "
          "--threads is then for each of them, --memory for all together. Under torchrun or "
          "srun leave it out")
      ->check(whole_number(1, plimsoll::ranks::kMostRanks))
      ->type_name("N")
      ->group(kResources);
}

void add_running_options(CLI::App& command, launch::RunningOptions& options) {
  add_device_options(command, options);
  add_training_memory(command, options.memory_bytes);
  add_ranks(command, options.ranks);
  command
      .add_option("--rank-timeout", options.rank_timeout_minutes,
                  "end all ranks if one is busy without progress for X minutes")
      ->check(CLI::Range(kLeastRankMinutes, kMostRankMinutes))
      ->type_name("X")
      ->capture_default_str()
      ->group(kResources);
  command.add_flag("--verify", options.verify,
                   "first read every file of the store and compare its checksum");
  add_quiet(command, options.run.quiet);
}

launch::GpuFacts gpu_facts() { return launch::gpu_facts(gate::first_usable_gpu); }

}  // namespace plimsoll::cli
