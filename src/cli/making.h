// What `import`, `synth` and `precompute` share: the options of a store in the making, the words
// around the work, and the closing summary.
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
// Those of them that every store in the making has: where to, and under which limit.
void add_store_options(CLI::App& command, MakingOptions& options);

// --directed and --undirected; neither given: `fallback`.
struct DirectionFlags {
  bool directed = false;
  bool undirected = false;
  graph::Direction or_else(graph::Direction fallback) const;
};
void add_direction_flags(CLI::App& command, DirectionFlags& flags);

// f16 or f32, under the given option names.
void add_feature_type(CLI::App& command, const char* names, std::string& type);
graph::FeatureType feature_type(const std::string& name);

// One run from the limit to the summary. Text goes to stdout, unless the user wants JSON or quiet.
class Making {
 public:
  explicit Making(const MakingOptions& options);

  const memory::Limit& limit() const { return limit_; }
  memory::Ledger& ledger() { return ledger_; }
  Progress& progress() { return progress_; }

  // A line of the opening: "  memory    8.0 GiB (--memory; RAM 23.5 GiB)".
  void say(const std::string& topic, const std::string& text) const;
  void headline(const std::string& text) const;

  // Fills in what the options say and builds. `details` join the JSON of the summary.
  void build_store(ingest::InputGraph& source, ingest::BuildOptions build,
                   const nlohmann::ordered_json& details = nlohmann::ordered_json::object());

  // The last line, for whatever was written: `what` as in "5 nodes, 7 edges". `details` join the
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
