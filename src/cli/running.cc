#include "cli/running.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "formats/data_root.h"
#include "memory/limit.h"
#include "plan/describe.h"
#include "ranks/rank_place.h"

namespace plimsoll::cli {
namespace {

constexpr unsigned kMostWorkers = 4096;
constexpr unsigned kMostWindow = 1'000'000;
constexpr double kLeastRankMinutes = 0.01;
constexpr double kMostRankMinutes = 100'000;

train::DeviceKind parse_device(const std::string& word) {
  if (word == "cpu") return train::DeviceKind::cpu;
  return word == "cuda" ? train::DeviceKind::cuda : train::DeviceKind::automatic;
}

}  // namespace

void add_device_options(CLI::App& command, train::LaunchOptions& run) {
  command
      .add_option_function<std::string>(
          "--device", [&run](const std::string& word) { run.device = parse_device(word); },
          "where to compute; auto takes a GPU if there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->default_str("auto")
      ->group(kResources);
  command
      .add_option("--workers,--num_workers", run.workers,
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
  add_threads(command, run.threads);
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

void divide_threads(const CLI::App& command, train::LaunchOptions& run, unsigned host_ranks) {
  if (command.count("--threads") > 0) return;
  run.threads = std::max(1U, run.threads / host_ranks);
}

void add_running_options(CLI::App& command, RunningOptions& options) {
  add_device_options(command, options.run);
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

void check_writable(const char* option, const std::filesystem::path& file, bool force) {
  if (std::filesystem::is_directory(file)) {
    fail(ErrorKind::usage, "{} {} is a folder; name a file", option, file.string());
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(file)) && !force) {
    fail(ErrorKind::exists, "{} exists; give --force to replace it, or choose another {}",
         file.string(), option);
  }
  const std::filesystem::path parent =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(parent)) {
    fail(ErrorKind::io, "cannot write {} {}: the folder {} does not exist", option, file.string(),
         parent.string());
  }
}

void say(const RunningOptions& options, const std::string& topic, const std::string& text) {
  if (options.run.quiet) return;
  print("  {:<9} {}\n", topic, text);
  std::fflush(stdout);  // before the bars that follow on stderr
}

void verify_if_asked(const graph::Store& store, const RunningOptions& options) {
  if (!options.verify) return;
  memory::Ledger ledger(memory::choose_limit(options.memory_bytes, memory::detect_limit()).bytes);
  Progress progress(Progress::detect(options.run.quiet));
  say(options, "verified", formats::verify_store(store, ledger, progress));
}

std::string describe(const graph::Store& store) {
  const graph::Meta& meta = store.meta();
  return fmt::format("{}: {}, {}, {}, {}", store.folder().string(), counted(meta.nodes, "node"),
                     counted(meta.edges, "edge"), counted(meta.input_columns(), "feature"),
                     counted(meta.classes, "class"));
}

void say_plan(const RunningOptions& options, const plan::Plan& plan) {
  if (options.run.quiet) return;
  fmt::print("{}", plan::describe(plan));
  std::fflush(stdout);
}

}  // namespace plimsoll::cli
