// What `import`, `synth` and `precompute` share: the options for making a store, the messages, and
// the summary at the end.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/progress.h"
#include "graph/meta.h"
#include "ingest/build.h"
#include "memory/ledger.h"
#include "memory/limit.h"

namespace plimsoll::cli {

struct MakingOptions {
  std::filesystem::path out;
  bool force = false;
  std::string order = "visits";
  std::filesystem::path temp_folder;
  std::optional<uint64_t> memory_bytes;
  unsigned threads = 1;
  bool quiet = false;
  bool json = false;
};
void add_making_options(CLI::App& command, MakingOptions& options);
// Those of them that all three commands have: output, memory limit, threads.
void add_store_options(CLI::App& command, MakingOptions& options);

// --directed and --undirected; `fallback` if neither was given.
struct DirectionFlags {
  bool directed = false;
  bool undirected = false;
  graph::Direction or_else(graph::Direction fallback) const;
};
void add_direction_flags(CLI::App& command, DirectionFlags& flags);

// f16 or f32, as an option with these names.
CLI::Option* add_feature_type(CLI::App& command, const char* names, std::string& type);
graph::FeatureType feature_type(const std::string& name);

// One run, from the memory limit to the summary. Prints to stdout, unless JSON or quiet is wanted.
class Making {
 public:
  explicit Making(const MakingOptions& options);

  const memory::Limit& limit() const { return limit_; }
  memory::Ledger& ledger() { return ledger_; }
  Progress& progress() { return progress_; }

  // A line before the work starts: "  memory    8.0 GiB (--memory; RAM 23.5 GiB)".
  void say(const std::string& topic, const std::string& text) const;
  void headline(const std::string& text) const;

  // Completes `build` from the options and builds. `details` are added to the JSON summary.
  void build_store(ingest::InputGraph& source, ingest::BuildOptions build,
                   const nlohmann::ordered_json& details = nlohmann::ordered_json::object());

  // Prints the last line; `what` was written, as in "5 nodes, 7 edges". `details` are added to the
  // JSON.
  void summarize(const std::string& what, nlohmann::ordered_json details);

 private:
  const MakingOptions& options_;
  std::chrono::steady_clock::time_point start_;
  memory::Limit limit_;
  memory::Ledger ledger_;
  Progress progress_;
};

}  // namespace plimsoll::cli
