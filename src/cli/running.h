// What `train` and `predict` share: the options of a run, its memory limit, and the messages before
// it starts.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "graph/store.h"
#include "train/job.h"

namespace plimsoll::cli {

struct RunningOptions {
  train::LaunchOptions run;
  unsigned ranks = 0;  // 0: as the variables of torchrun or Slurm say, else one process
  double rank_timeout_minutes = 30;
  std::optional<uint64_t> memory_bytes;
  bool verify = false;
};
void add_running_options(CLI::App& command, RunningOptions& options);
// --ranks N
void add_ranks(CLI::App& command, unsigned& ranks);
// Ranks of one host divide its CPUs, unless the user gave --threads, which is for each of them.
void divide_threads(const CLI::App& command, train::LaunchOptions& run, unsigned host_ranks);
// Those of them that say what to compute with: --device, --workers, --window, --threads.
void add_device_options(CLI::App& command, train::LaunchOptions& run);

// Throws Error{usage, exists or io} if a file of this name cannot be written. For use before any
// work.
void check_writable(const char* option, const std::filesystem::path& file, bool force);

// Prints a line before the work starts: "  model     gcn, 2 layers, hidden 256"; nothing if quiet.
void say(const RunningOptions& options, const std::string& topic, const std::string& text);

// Prints the plan; nothing if quiet.
void say_plan(const RunningOptions& options, const plan::Plan& plan);

// For --verify: throws Error{store} if a file of the store differs from its checksum in meta.json.
void verify_if_asked(const graph::Store& store, const RunningOptions& options);

// "cora.plim: 2,708 nodes, 10,556 edges, 1,433 features, 7 classes"
std::string describe(const graph::Store& store);

}  // namespace plimsoll::cli
