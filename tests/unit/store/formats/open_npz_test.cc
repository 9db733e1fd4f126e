#include <gtest/gtest.h>

#include "formats/npy_parts.h"
#include "formats/open_graph.h"
#include "formats/small_graph.h"

namespace plimsoll::formats {
namespace {

TEST(NpzSource, ReadsAllItsParts) {
  for (const std::string valid : {"valid_idx.npy", "val_idx.npy"}) {
    const TempFolder folder;
    const auto source =
        npz_of(folder, {{"edge_index.npy", edge_index_npy()},
                        {"node_feat.npy", node_feat_npy()},
                        {"node_label.npy", npy<int64_t>("<i8", {5}, {0, 1, -1, 1, 0})},
                        {"train_idx.npy", npy<int32_t>("<i4", {2}, {0, 3})},
                        {valid, npy<int32_t>("<i4", {1}, {1})},
                        {"test_idx.npy", npy<int64_t>("<i8", {1, 1}, {4})},
                        {"whatever.txt", "not read"}});
    expect_the_graph(*source);
    EXPECT_EQ(source->not_read().unknown, (std::vector<std::string>{"whatever.txt"}));
    EXPECT_TRUE(source->shape().has_labels);
    EXPECT_EQ(splits_of(*source), kSplitNodes);
  }
}

TEST(NpzSource, RefusesArraysOfEdgesUnderAnyName) {
  const ZipMember edges = {"edge_index.npy", npy<int64_t>("<i8", {2, 7}, std::vector<int64_t>(14))};
  const ZipMember features = {"x.npy", node_feat_npy()};
  const std::vector<float> seven(7);
  const std::vector<float> fourteen(14);
  expect_npz_refused({edges, features, {"weight.npy", npy<float>("<f4", {7}, seven)}},
                     {"weight.npy belongs to the edges", "--ignore weight"});
  expect_npz_refused({edges, features, {"adj_t.npy", npy<float>("<f4", {2, 7}, fourteen)}},
                     {"adj_t.npy belongs to the edges", "--ignore adj_t"});
  expect_npz_refused({edges, features, {"attr.npy", npy<float>("<f4", {7, 2}, fourteen)}},
                     {"attr.npy belongs to the edges"});
  const TempFolder folder;
  const auto source = npz_of(folder, {edges,
                                      features,
                                      {"year.npy", npy<float>("<f4", {5}, {1, 2, 3, 4, 5})},
                                      {"node_rank.npy", npy<float>("<f4", {7}, seven)},
                                      {"object.npy", "no array"}});
  EXPECT_EQ(source->not_read().unknown, (std::vector<std::string>{"year", "node_rank", "object"}));
}

TEST(NpzSource, ReadsEdgesAndFeaturesAlone) {
  const TempFolder folder;
  const auto source =
      npz_of(folder, {{"edge_index.npy", edge_index_npy()}, {"node_feat.npy", node_feat_npy()}});
  EXPECT_FALSE(source->shape().has_labels);
  expect_the_graph(*source);
  EXPECT_TRUE(splits_of(*source).empty());
}

TEST(NpzSource, ListsTheMembersWhereOneIsMissing) {
  expect_npz_refused({{"edge_index.npy", edge_index_npy()}, {"feat.npy", "x"}},
                     {"graph.npz has no array of features (node_feat or x)", "edge_index, feat"});
  expect_npz_refused({{"node_feat.npy", node_feat_npy()}},
                     {"graph.npz has no array of edges (edge_index)", "node_feat"});
}

TEST(NpzSource, RefusesWrongShapes) {
  const ZipMember edges = {"edge_index.npy", edge_index_npy()};
  const ZipMember features = {"node_feat.npy", node_feat_npy()};
  expect_npz_refused(
      {{"edge_index.npy", npy<int64_t>("<i8", {3, 3}, {0, 1, 1, 2, 2, 3, 0, 0, 0})}, features},
      {"edge_index.npy is int64 of shape (3, 3); (2, edges) is expected", "(edges, 2)"});
  expect_npz_refused({edges, {"node_feat.npy", npy_around(npy_dict("<f4", {5, 1U << 25}), "")}},
                     {"node_feat.npy is float32 of shape (5, 33554432)", "at most 16777216"});
  expect_npz_refused({{"edge_index.npy", npy<int64_t>("<i8", {3}, {0, 1, 1})}, features},
                     {"edge_index.npy is int64 of shape (3,)"});
  expect_npz_refused({edges, {"node_feat.npy", npy<float>("<f4", {3}, {0, 1, 1})}},
                     {"node_feat.npy is float32 of shape (3,)", "(nodes, features)"});
  expect_npz_refused({edges, {"node_feat.npy", npy<float>("<f4", {3, 0}, {})}},
                     {"node_feat.npy is float32 of shape (3, 0)"});
  expect_npz_refused({edges, features, {"node_label.npy", npy<int8_t>("|i1", {4}, {0, 0, 0, 0})}},
                     {"node_label.npy has 4 rows", "node_feat.npy gives 5 nodes"});
  expect_npz_refused(
      {edges, features, {"node_label.npy", npy<int8_t>("|i1", {2, 2}, {0, 0, 0, 0})}},
      {"node_label.npy is int8 of shape (2, 2)", "one label per node"});
  expect_npz_refused({edges, features, {"train_idx.npy", npy<int8_t>("|i1", {2, 2}, {0, 0, 0, 0})}},
                     {"train_idx.npy is int8 of shape (2, 2)", "a list of node ids"});
}

TEST(NpzSource, RefusesGraphsOfNothingOrTooMuch) {
  const ZipMember edges = {"edge_index.npy", edge_index_npy()};
  expect_npz_refused({edges, {"node_feat.npy", npy<float>("<f4", {0, 3}, {})}}, {"has no nodes"});
  expect_npz_refused(
      {{"edge_index.npy", npy<int64_t>("<i8", {2, 0}, {})}, {"node_feat.npy", node_feat_npy()}},
      {"has no edges"});
  const std::string huge = npy_around(npy_dict("<f4", {uint64_t{1} << 32, 1}), "");
  expect_npz_refused({edges, {"node_feat.npy", huge}},
                     {"gives 4294967296 nodes; at most 4294967295", "32 bits"});
}

TEST(NpzSource, RefusesBadValuesWhenTheyAreRead) {
  const TempFolder folder;
  const auto source =
      npz_of(folder, {{"edge_index.npy", npy<int64_t>("<i8", {2, 3}, {0, 1, 2, 3, 5, 0})},
                      {"node_feat.npy", node_feat_npy()},
                      {"node_label.npy", npy<int8_t>("|i1", {5}, {0, -2, 0, 0, 0})},
                      {"train_idx.npy", npy<int8_t>("|i1", {2}, {0, -1})}});
  expect_error(ErrorKind::input, {"edge_index.npy at [1, 1]: id 5 but there are only 5 nodes"},
               [&] { edges_of(*source, 100); });
  expect_error(ErrorKind::input, {"node_label.npy at [1]: label -2"}, [&] { labels_of(*source); });
  expect_error(ErrorKind::input, {"train_idx.npy at [1]: id -1"}, [&] { splits_of(*source); });
}

TEST(NpzSource, RefusesFloatEdges) {
  const TempFolder folder;
  const auto source = npz_of(folder, {{"edge_index.npy", npy<float>("<f4", {2, 1}, {0, 1})},
                                      {"node_feat.npy", node_feat_npy()}});
  expect_error(ErrorKind::input, {"edge_index.npy is float32", "integers"},
               [&] { edges_of(*source); });
}

TEST(NpzSource, ChecksTheChecksumsOfWhatItHasRead) {
  for (const std::string member : {"edge_index.npy", "node_feat.npy"}) {
    const TempFolder folder;
    const std::filesystem::path file = folder / "graph.npz";
    write_zip(file, {{"edge_index.npy", edge_index_npy()}, {"node_feat.npy", node_feat_npy()}},
              ZIP_CM_STORE);
    // Node 1 becomes node 0, feature 0 becomes another float: valid values, but not those written.
    std::string bytes = read_file(file);
    const size_t data = bytes.find(member) + member.size() + 128;
    bytes[data + (member == "edge_index.npy" ? 8 : 0)] ^= 1;
    write_file(file, bytes);
    const auto source = open_npz(file);
    expect_error(ErrorKind::input, {"member " + member, "CRC"}, [&] {
      edges_of(*source);
      features_of(*source);
    });
  }
}

TEST(NpzSource, RefusesBytesBehindTheEdges) {
  const TempFolder folder;
  const auto source = npz_of(
      folder, {{"edge_index.npy", edge_index_npy() + "x"}, {"node_feat.npy", node_feat_npy()}});
  expect_error(ErrorKind::input, {"edge_index.npy: bytes follow"}, [&] { edges_of(*source); });
}

TEST(NpzSource, ReadsFeaturesOfOtherTypes) {
  const TempFolder folder;
  std::vector<double> wide(kFeatures.begin(), kFeatures.end());
  const auto source = npz_of(folder, {{"edge_index.npy", edge_index_npy()},
                                      {"node_feat.npy", npy<double>("<f8", {5, 3}, wide)}});
  expect_the_graph(*source);
}

std::string fortran_features() {
  std::string data;
  for (size_t column = 0; column < 3; ++column) {
    for (size_t row = 0; row < 5; ++row) {
      data.append(reinterpret_cast<const char*>(&kFeatures[row * 3 + column]), sizeof(float));
    }
  }
  return npy_around(npy_dict("<f4", {5, 3}, true), data);
}

TEST(NpzSource, ReadsFeaturesThatLieColumnByColumn) {
  const TempFolder folder;
  const auto source =
      npz_of(folder, {{"edge_index.npy", edge_index_npy()}, {"node_feat.npy", fortran_features()}});
  expect_the_graph(*source);
}

TEST(NpyColumnFeatures, TurnsAMatrixInPanels) {
  const TempFolder folder;
  write_file(folder / "a.npy", fortran_features());
  for (const uint64_t panel_rows : {1, 2, 3, 5, 9}) {
    NpyColumnFeatures reader({folder / "a.npy", ""}, {5, 3}, panel_rows * 3 * sizeof(float));
    std::vector<float> values(15);
    EXPECT_EQ(reader.next(std::span(values).first(9)).count, 3U);
    const auto rest = reader.next(std::span(values).subspan(9));
    EXPECT_EQ(rest.first_node, 3U);
    EXPECT_EQ(rest.count, 2U);
    EXPECT_EQ(values, kFeatures);
    EXPECT_EQ(reader.next(values).count, 0U);
  }
}

TEST(NpyColumnFeatures, RefusesLargeMatricesWithARemedy) {
  const TempFolder folder;
  const std::string large = npy_around(npy_dict("<f4", {111'059'956, 128}, true), "");
  expect_error(ErrorKind::input,
               {"node_feat.npy", "fortran_order", "1.0 GiB", "np.ascontiguousarray"}, [&] {
                 npz_of(folder, {{"edge_index.npy", edge_index_npy()}, {"node_feat.npy", large}});
               });
}

}  // namespace
}  // namespace plimsoll::formats
