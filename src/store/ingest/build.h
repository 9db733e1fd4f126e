// InputGraph -> store. build() is the table of contents of an import; the passes have files of
// their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/meta.h"
#include "ingest/build_plan.h"
#include "ingest/input_graph.h"
#include "ingest/lists.h"

namespace plimsoll::ingest {

struct BuildOptions {
  std::filesystem::path out;
  bool replace = false;  // an existing store of that name
  graph::Direction direction = graph::Direction::undirected;
  graph::FeatureType features = graph::FeatureType::f16;
  graph::NodeOrder order = graph::NodeOrder::visits;
  std::filesystem::path temp_folder;  // empty: beside `out`
  unsigned threads = 1;
  nlohmann::json source;  // goes into meta.json as it is
};

struct BuildResult {
  graph::Meta meta;
  DroppedEdges dropped;
  uint64_t vanished_values = 0;  // features other than 0 that became 0 in f16
  bool removed_remains = false;  // of an earlier run that was killed
};

// Throws Error{memory} or Error{disk} with both figures before anything is written, where the limit
// or the disks are too small. Returns how temporary files must behave to fit.
io::TempPlace check_room(const BuildShape& shape, const BuildOptions& options,
                         uint64_t limit_bytes);

BuildResult build(InputGraph& source, const BuildOptions& options, memory::Ledger& ledger,
                  Progress& progress);

}  // namespace plimsoll::ingest
