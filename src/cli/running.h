// What `train` and `predict` share: the options of a run, the memory it works under, and the words
// before it begins.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "graph/store.h"
#include "memory/limit.h"
#include "train/job.h"

namespace plimsoll::cli {

struct RunningOptions {
  train::RunOptions run;
  std::optional<uint64_t> memory_bytes;
};
void add_running_options(CLI::App& command, RunningOptions& options);

// What stays in memory while a model runs over the store: all files but hotness and ids.
uint64_t resident_bytes(const graph::Store& store);

// Throws Error{memory} where the store and the runtime do not fit into the limit: before the
// training library is loaded.
void check_fits(const graph::Store& store, const memory::Limit& limit);

// A line of the opening: "  model     gcn, 2 layers, hidden 256"; nothing when quiet.
void say(const RunningOptions& options, const std::string& topic, const std::string& text);

// "cora.plim: 2,708 nodes, 10,556 edges, 1,433 features, 7 classes"
std::string describe(const graph::Store& store);

}  // namespace plimsoll::cli
