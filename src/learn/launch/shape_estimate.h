// A data set that nobody has yet, as a shape: for plans before a download. Its neighbourhoods are
// those of a small synthetic graph of the same kind.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ingest/build_plan.h"
#include "ingest/synth.h"
#include "launch/planning.h"

namespace plimsoll::launch {

// What the command line says of it.
struct ShapeOptions {
  std::optional<uint64_t> nodes;
  std::optional<uint64_t> edges;
  std::optional<uint64_t> columns;
  std::optional<uint64_t> classes;
  std::optional<uint64_t> train_nodes;
  bool directed = false;

  bool any() const { return nodes || edges || columns || classes || train_nodes; }
};

// The preset of this name, changed by the options; without a name, the options alone. Throws
// Error{usage}.
ingest::SynthOptions shape_of(const std::string& preset, const ShapeOptions& options);
// The nearest preset's name, for who mistyped it.
std::optional<std::string> nearest_preset(const std::string& name);
bool is_preset(const std::string& name);

// "111M", "1.6G", "2500": thousands, millions and thousand millions. Throws Error{usage}.
uint64_t parse_count(const std::string& text);

// The small graph, in a folder of its own that goes with it. Takes a second.
class ShapeEstimate {
 public:
  ShapeEstimate(const ingest::SynthOptions& shape, bool directed, unsigned threads);
  ShapeEstimate(const ShapeEstimate&) = delete;
  ShapeEstimate& operator=(const ShapeEstimate&) = delete;
  ~ShapeEstimate();

  Planned planned() const { return {*store_, scale_, large_}; }
  const plan::StoreShape& shape() const { return large_; }
  // What an import of it takes.
  ingest::DiskNeed disk() const { return ingest::disk_need(build_, /*release_early=*/true); }
  uint64_t import_memory_bytes() const { return ingest::least_memory_bytes(build_); }

 private:
  std::filesystem::path folder_;
  std::optional<graph::Store> store_;
  double scale_ = 1;
  plan::StoreShape large_;
  ingest::BuildShape build_;
};

}  // namespace plimsoll::launch
