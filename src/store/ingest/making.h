// Making a store from the first message to the summary, as `import`, `synth` and `precompute` do
// it: the memory limit, what is printed on the way, and the last line or the JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/progress.h"
#include "graph/meta.h"
#include "ingest/build.h"
#include "memory/ledger.h"
#include "memory/limit.h"

namespace plimsoll::ingest {

struct MakingOptions {
  std::filesystem::path out;
  bool force = false;
  graph::NodeOrder order = graph::NodeOrder::visits;
  std::filesystem::path temp_folder;
  std::optional<uint64_t> memory_bytes;
  unsigned threads = 1;
  bool quiet = false;
  bool json = false;
};

// One run, from the memory limit to the summary. Prints to stdout, unless JSON or quiet is wanted.
class Making {
 public:
  // Throws Error{exists} if --force would replace something that is not a store.
  explicit Making(const MakingOptions& options);

  const memory::Limit& limit() const { return limit_; }
  memory::Ledger& ledger() { return ledger_; }
  Progress& progress() { return progress_; }

  // A line before the work starts: "  memory    8.0 GiB (--memory; RAM 23.5 GiB)".
  void say(const std::string& topic, const std::string& text) const;
  void headline(const std::string& text) const;
  // A note that also the quiet must see; they find it on stderr. The JSON has its own field for it.
  void warn(const std::string& note) const;

  // Completes `how` from the options and builds. `details` are added to the JSON summary.
  void build_store(InputGraph& source, BuildOptions how,
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

}  // namespace plimsoll::ingest
