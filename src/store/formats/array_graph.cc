#include "formats/array_graph.h"

#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "base/error.h"

namespace plimsoll::formats {
namespace {

constexpr std::array<std::string_view, 1> kNpy = {".npy"};
constexpr std::array<std::string_view, 1> kEdges = {"edge_index"};
constexpr std::array<std::string_view, 2> kFeatures = {"node_feat", "x"};
constexpr std::array<std::string_view, 2> kLabels = {"node_label", "y"};
constexpr std::array<std::string_view, 2> kNodeCount = {"num_nodes", "num_nodes_list"};
constexpr std::array<std::string_view, 2> kEdgeCount = {"num_edges", "num_edges_list"};
constexpr std::array<std::string_view, 2> kTrain = {"train_idx", "train_mask"};
constexpr std::array<std::string_view, 4> kValid = {"valid_idx", "val_idx", "valid_mask",
                                                    "val_mask"};
constexpr std::array<std::string_view, 2> kTest = {"test_idx", "test_mask"};

ItemNames names_of(ingest::SplitKind split) {
  switch (split) {
    case ingest::SplitKind::train:
      return kTrain;
    case ingest::SplitKind::valid:
      return kValid;
    case ingest::SplitKind::test:
      break;
  }
  return kTest;
}

NpyLocation require(InputItems& arrays, std::string_view where, std::string_view what,
                    ItemNames names) {
  if (const auto item = arrays.take(names, kNpy)) return item->location;
  fail(ErrorKind::input, "{} has no array of {} ({}); it holds: {}", where, what,
       fmt::join(names, " or "), arrays.list());
}

}  // namespace

GraphParts open_array_graph(InputItems& arrays, std::string_view where,
                            std::optional<uint64_t> mask_column) {
  const NpyLocation edges = require(arrays, where, "edges", kEdges);
  const NpyLocation features = require(arrays, where, "features", kFeatures);
  const StatedCount nodes = {npy_matrix_shape(features).rows, features.words()};
  if (const auto count = arrays.take(kNodeCount, kNpy)) {
    check_agreement("nodes", read_npy_count(count->location), nodes);
  }
  check_node_count(nodes);

  GraphParts parts;
  parts.nodes = nodes.count;
  parts.edges = open_npy_edges(edges, nodes.count);
  if (const auto count = arrays.take(kEdgeCount, kNpy)) {
    check_agreement("edges", read_npy_count(count->location),
                    {parts.edges->count(), edges.words()});
  }
  parts.features = open_npy_features(features);
  if (const auto labels = arrays.take(kLabels, kNpy)) {
    parts.labels = open_npy_labels(labels->location, nodes);
  }
  bool side_by_side = false;
  for (const ingest::SplitKind split : ingest::kSplits) {
    const auto item = arrays.take(names_of(split), kNpy);
    if (!item) continue;
    const NpyHeader header = parse_npy_header(*open_npy(item->location));
    const bool mask = item->name.ends_with("_mask") || header.dtype == Dtype::boolean;
    side_by_side |= mask && header.shape.size() == 2 && header.shape[1] > 1;
    parts.splits.at(static_cast<size_t>(split)) =
        mask ? open_npy_mask(item->location, nodes, mask_column)
             : open_npy_ids(item->location, nodes.count);
  }
  if (mask_column && !side_by_side) {
    fail(ErrorKind::usage, "--mask-column {}: {} has no mask of several columns", *mask_column,
         where);
  }
  return parts;
}

}  // namespace plimsoll::formats
