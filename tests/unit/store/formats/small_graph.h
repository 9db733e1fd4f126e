// One small graph in every format, what a source must make of it, and all that a source gives.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/open_graph.h"
#include "formats/test_files.h"

namespace plimsoll::formats {

using Edge = std::pair<uint32_t, uint32_t>;

inline std::vector<Edge> edges_of(ingest::InputGraph& source, size_t piece = 2) {
  std::vector<Edge> edges;
  std::vector<uint32_t> sources(piece);
  std::vector<uint32_t> destinations(piece);
  while (const size_t count = source.next_edges(sources, destinations)) {
    for (size_t i = 0; i < count; ++i) edges.emplace_back(sources[i], destinations[i]);
  }
  return edges;
}

inline std::vector<float> features_of(ingest::InputGraph& source, size_t piece_rows = 2) {
  const size_t columns = source.shape().feature_columns;
  std::vector<float> features;
  std::vector<float> piece(piece_rows * columns + columns / 2);
  for (;;) {
    const auto rows = source.next_rows(piece);
    EXPECT_EQ(rows.first_node * columns, features.size());
    if (rows.count == 0) return features;
    features.insert(features.end(), piece.begin(),
                    piece.begin() + static_cast<ptrdiff_t>(rows.count * columns));
  }
}

inline std::vector<int32_t> labels_of(ingest::InputGraph& source) {
  std::vector<int32_t> labels;
  source.read_labels([&](std::span<const int32_t> piece) {
    labels.insert(labels.end(), piece.begin(), piece.end());
  });
  return labels;
}

inline std::map<ingest::SplitKind, std::vector<uint32_t>> splits_of(ingest::InputGraph& source) {
  std::map<ingest::SplitKind, std::vector<uint32_t>> splits;
  source.read_splits([&](ingest::SplitKind split, uint64_t row, uint32_t node) {
    EXPECT_EQ(row, splits[split].size());
    splits[split].push_back(node);
  });
  return splits;
}

// One graph in every format: 5 nodes, 6 edges, 3 features, 2 classes and one node without a label.
inline const std::vector<Edge> kEdges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {0, 2}};
inline const std::vector<float> kFeatures = {0,  0.5, 1,    10, 10.5, 11,   20, 20.5,
                                             21, 30,  30.5, 31, 40,   40.5, 41};
inline const std::vector<int32_t> kLabels = {0, 1, -1, 1, 0};
inline const std::map<ingest::SplitKind, std::vector<uint32_t>> kSplitNodes = {
    {ingest::SplitKind::train, {0, 3}},
    {ingest::SplitKind::valid, {1}},
    {ingest::SplitKind::test, {4}}};

inline void expect_the_graph(ingest::InputGraph& source) {
  EXPECT_EQ(source.shape().nodes, 5U);
  EXPECT_EQ(source.shape().edges, 6U);
  EXPECT_EQ(source.shape().feature_columns, 3U);
  EXPECT_EQ(edges_of(source, 4), kEdges);
  EXPECT_EQ(features_of(source), kFeatures);
  if (!source.shape().has_labels) return;
  EXPECT_EQ(labels_of(source), kLabels);
  EXPECT_EQ(labels_of(source), kLabels) << "when read again";
}

inline std::string edge_index_npy() {
  return npy<int64_t>("<i8", {2, 6}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 2});
}
inline std::string node_feat_npy() { return npy<float>("<f4", {5, 3}, kFeatures); }
inline std::string node_label_npy() {
  return npy<float>("<f4", {5, 1}, {0, 1, std::numeric_limits<float>::quiet_NaN(), 1, 0});
}
inline std::string count_npy(int64_t count) { return npy<int64_t>("<i8", {1}, {count}); }

inline const std::string kEdgesCsv = "0,1\n1,2\n2,3\n3,4\n4,0\n0,2\n";
inline const std::string kFeaturesCsv = "0,0.5,1\n10,10.5,11\n20,20.5,21\n30,30.5,31\n40,40.5,41\n";
inline const std::string kLabelsCsv = "0\n1\nnan\n1\n0\n";

inline std::vector<ZipMember> ogb_members() {
  return {{"edge_index.npy", edge_index_npy()},
          {"node_feat.npy", node_feat_npy()},
          {"num_nodes_list.npy", count_npy(5)},
          {"num_edges_list.npy", count_npy(6)}};
}

inline void write_split(const TempFolder& folder, const std::string& name) {
  write_file(folder / (name + "/train.csv.gz"), gzipped("0\n3\n"));
  write_file(folder / (name + "/valid.csv"), "1\n");
  write_file(folder / (name + "/test.npy"), npy<int64_t>("<i8", {1}, {4}));
}

inline void write_ogb_npz(const TempFolder& folder,
                          const std::vector<ZipMember>& members = ogb_members(),
                          int method = ZIP_CM_DEFLATE) {
  write_zip(folder / "raw/data.npz", members, method);
  write_zip(folder / "raw/node-label.npz", {{"node_label.npy", node_label_npy()}}, method);
}

inline void write_ogb_csv(const TempFolder& folder) {
  write_file(folder / "raw/edge.csv.gz", gzipped(kEdgesCsv));
  write_file(folder / "raw/node-feat.csv.gz", gzipped(kFeaturesCsv));
  write_file(folder / "raw/node-label.csv.gz", gzipped(kLabelsCsv));
  write_file(folder / "raw/num-node-list.csv.gz", gzipped("5\n"));
  write_file(folder / "raw/num-edge-list.csv.gz", gzipped("6\n"));
}

// Opens an npz of these members.
inline std::unique_ptr<FileGraph> npz_of(const TempFolder& folder,
                                         const std::vector<ZipMember>& members,
                                         const ReadingOptions& reading = {}) {
  write_zip(folder / "graph.npz", members);
  return open_npz(folder.path() / "graph.npz", reading);
}

inline void expect_npz_refused(const std::vector<ZipMember>& members,
                               const std::vector<std::string>& parts) {
  const TempFolder folder;
  expect_error(ErrorKind::input, parts, [&] { npz_of(folder, members); });
}

inline std::string bools(const std::vector<uint8_t>& values) {
  return npy<uint8_t>("|b1", {values.size()}, values);
}

inline std::map<ingest::SplitKind, std::vector<uint32_t>> masked_nodes(ingest::InputGraph& source) {
  std::map<ingest::SplitKind, std::vector<uint32_t>> nodes;
  source.read_splits([&](ingest::SplitKind split, uint64_t row, uint32_t node) {
    EXPECT_EQ(row, node);
    nodes[split].push_back(node);
  });
  return nodes;
}

inline std::vector<ZipMember> with(std::vector<ZipMember> members, const ZipMember& more) {
  members.push_back(more);
  return members;
}

}  // namespace plimsoll::formats
