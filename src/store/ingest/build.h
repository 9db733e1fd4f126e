// Turns an InputGraph into a store. build() calls the passes of an import in order; each pass has
// its own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/meta.h"
#include "ingest/build_plan.h"
#include "ingest/input_graph.h"
#include "ingest/passes.h"

namespace plimsoll::ingest {

struct BuildOptions {
  std::filesystem::path out;
  bool replace = false;  // replace an existing store of that name
  graph::Direction direction = graph::Direction::undirected;
  graph::FeatureType features = graph::FeatureType::f16;
  graph::NodeOrder order = graph::NodeOrder::visits;
  std::filesystem::path temp_folder;  // empty: beside `out`
  unsigned threads = 1;
  nlohmann::json source;  // copied into meta.json unchanged
};

struct BuildResult {
  graph::Meta meta;
  DroppedEdges dropped;
  uint64_t vanished_values = 0;  // features that are not 0 but became 0 in f16
  bool removed_remains = false;  // files of an earlier import that was killed were removed
};

// Call before anything is written. Throws Error{memory} or Error{disk}, with the need and what is
// there, if the limit or a disk is too small. Returns where temporary files go, and whether they
// must release their space early to fit.
io::TempPlace check_room(const BuildShape& shape, const BuildOptions& options,
                         uint64_t limit_bytes);

// Calls check_room() itself. The store appears under its name only when it is complete.
BuildResult build(InputGraph& source, const BuildOptions& options, memory::Ledger& ledger,
                  Progress& progress);

}  // namespace plimsoll::ingest
