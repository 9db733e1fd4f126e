// What `train` and `predict` share: the options of a run, the memory it works under, and the words
// before it begins.
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
  std::optional<uint64_t> memory_bytes;
  bool verify = false;
};
void add_running_options(CLI::App& command, RunningOptions& options);
// The part of it that says what to compute with: --device, --workers, --threads.
void add_device_options(CLI::App& command, train::LaunchOptions& run);

// Error{usage, exists or io} where a file of this name cannot be written, before any work.
void check_writable(const char* option, const std::filesystem::path& file, bool force);

// A line of the opening: "  model     gcn, 2 layers, hidden 256"; nothing when quiet.
void say(const RunningOptions& options, const std::string& topic, const std::string& text);

// The plan as part of the opening; nothing when quiet.
void say_plan(const RunningOptions& options, const plan::Plan& plan);

// --verify: Error{store} where a file of the store is not what meta.json says.
void verify_if_asked(const graph::Store& store, const RunningOptions& options);

// "cora.plim: 2,708 nodes, 10,556 edges, 1,433 features, 7 classes"
std::string describe(const graph::Store& store);

}  // namespace plimsoll::cli
