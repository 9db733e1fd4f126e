// Estimates for a data set that is not on this machine yet, so that a run can be planned before a
// download. The batches are estimated from a small synthetic graph of the same kind.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ingest/build_plan.h"
#include "ingest/synth.h"
#include "launch/planning.h"

namespace plimsoll::launch {

// The options of the command line.
struct ShapeOptions {
  std::optional<uint64_t> nodes;
  std::optional<uint64_t> edges;
  std::optional<uint64_t> columns;
  std::optional<uint64_t> classes;
  std::optional<uint64_t> train_nodes;
  bool directed = false;

  bool any() const { return nodes || edges || columns || classes || train_nodes; }
};

// The preset of this name, changed by the options; if the name is empty, only the options. Throws
// Error{usage} if something is missing or invalid.
ingest::SynthOptions described_graph(const std::string& preset, const ShapeOptions& options);
// The preset with the most similar name, for typing errors.
std::optional<std::string> nearest_preset(const std::string& name);
bool is_preset(const std::string& name);

// "2500", "40K", "111M", "1.6G" (or "1.6B"). Throws Error{usage} for other texts.
uint64_t parse_short_count(const std::string& text);

// Builds the small graph in a temporary folder, which it removes at the end. Takes a second.
class ShapeEstimate {
 public:
  ShapeEstimate(const ingest::SynthOptions& shape, bool directed, unsigned threads);
  ShapeEstimate(const ShapeEstimate&) = delete;
  ShapeEstimate& operator=(const ShapeEstimate&) = delete;
  ~ShapeEstimate();

  Planned planned() const { return {*store_, scale_, large_}; }
  const plan::StoreShape& shape() const { return large_; }
  // What importing the real data set will need.
  ingest::DiskNeed disk() const { return ingest::disk_need(build_, /*release_early=*/true); }
  uint64_t import_memory_bytes() const { return ingest::least_memory_bytes(build_); }

 private:
  std::filesystem::path folder_;
  std::optional<graph::Store> store_;
  double scale_ = 1;
  plan::StoreShape large_;
  ingest::BuildShape build_;
};

// The estimate of the data set that a name or the options describe; null if the name is that of a
// store. A folder that exists is preferred to a data set of the same name. Throws Error{usage} if
// both are given.
std::unique_ptr<ShapeEstimate> estimate_of(const std::filesystem::path& name,
                                           const ShapeOptions& options, unsigned threads);

// Opens a store to plan with. If there is none, the Error names the data set that was meant.
graph::Store open_planned(const std::filesystem::path& folder);

// Lines of a plan: the shape, and what the import will need.
std::string describe(const ShapeEstimate& estimate);
nlohmann::ordered_json to_json(const ShapeEstimate& estimate);

}  // namespace plimsoll::launch
