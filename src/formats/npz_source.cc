#include <array>

#include "formats/file_source.h"
#include "formats/file_sources.h"
#include "formats/npz_members.h"

namespace plimsoll::formats {

std::unique_ptr<Source> open_npz(const std::filesystem::path& file) {
  const NpzMembers members(file);
  const NpyLocation edges = members.require("edge_index");
  const NpyLocation features = members.require("node_feat");
  const StatedCount nodes = {npy_matrix_shape(features).rows, features.words()};
  check_node_count(nodes);

  GraphParts parts;
  parts.nodes = nodes.count;
  parts.edges = open_npy_edges(edges, nodes.count);
  parts.features = open_npy_features(features);
  if (const auto labels = members.find("node_label"))
    parts.labels = open_npy_labels(*labels, nodes);
  for (const Split split : kSplits) {
    auto ids = members.find(std::string(name(split)) + "_idx");
    if (!ids && split == Split::valid) ids = members.find("val_idx");
    if (ids) parts.splits.at(static_cast<size_t>(split)) = open_npy_ids(*ids, nodes.count);
  }
  return std::make_unique<FileSource>(std::move(parts));
}

}  // namespace plimsoll::formats
