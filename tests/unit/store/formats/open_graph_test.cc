#include "formats/open_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "formats/npy_parts.h"
#include "formats/small_graph.h"

namespace plimsoll::formats {
namespace {

TEST(OgbSource, ReadsNpzFolders) {
  for (const int method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    const TempFolder folder;
    write_ogb_npz(folder, ogb_members(), method);
    write_split(folder, "split/time");
    const auto source = open_ogb({folder.path(), ""});
    EXPECT_TRUE(source->shape().has_labels);
    expect_the_graph(*source);
    EXPECT_EQ(splits_of(*source), kSplitNodes);
  }
}

TEST(OgbSource, ReadsCsvFolders) {
  const TempFolder folder;
  write_ogb_csv(folder);
  write_split(folder, "split/time");
  const auto source = open_ogb({folder.path(), ""});
  EXPECT_TRUE(source->shape().has_labels);
  expect_the_graph(*source);
  EXPECT_EQ(splits_of(*source), kSplitNodes);
}

TEST(OgbSource, ReadsPlainCsvWithoutCountsLabelsAndSplits) {
  const TempFolder folder;
  write_file(folder / "raw/edge.csv", kEdgesCsv);
  write_file(folder / "raw/node-feat.csv", kFeaturesCsv);
  const auto source = open_ogb({folder.path(), ""});
  EXPECT_FALSE(source->shape().has_labels);
  expect_the_graph(*source);
  EXPECT_TRUE(splits_of(*source).empty());
}

TEST(OgbSource, ReadsNpyFilesInRawOrInTheFolder) {
  for (const std::string place : {"raw/", ""}) {
    const TempFolder folder;
    write_file(folder / (place + "edge_index.npy"), edge_index_npy());
    write_file(folder / (place + "node_feat.npy"), node_feat_npy());
    write_file(folder / (place + (place.empty() ? "node-label.npy" : "node_label.npy")),
               node_label_npy());
    const auto source = open_ogb({folder.path(), ""});
    EXPECT_TRUE(source->shape().has_labels);
    expect_the_graph(*source);
  }
}

TEST(OgbSource, NamesPlacesInNpzAndCsv) {
  const TempFolder npz;
  write_ogb_npz(npz);
  write_split(npz, "split/time");
  const auto arrays = open_ogb({npz.path(), ""});
  const std::string root = npz.path().string();
  EXPECT_EQ(arrays->place(ingest::InputPart::features, 12),
            root + "/raw/data.npz, member node_feat.npy, row 12");
  EXPECT_EQ(arrays->place(ingest::InputPart::edges, 2),
            root + "/raw/data.npz, member edge_index.npy, column 2");
  EXPECT_EQ(arrays->place(ingest::InputPart::labels, 3),
            root + "/raw/node-label.npz, member node_label.npy, row 3");
  EXPECT_EQ(arrays->place(ingest::InputPart::train, 1), root + "/split/time/train.csv.gz, line 2");
  EXPECT_EQ(arrays->place(ingest::InputPart::test, 0), root + "/split/time/test.npy, row 0");

  const TempFolder csv;
  write_ogb_csv(csv);
  const auto tables = open_ogb({csv.path(), ""});
  EXPECT_EQ(tables->place(ingest::InputPart::features, 12),
            csv.path().string() + "/raw/node-feat.csv.gz, line 13");
  EXPECT_EQ(tables->place(ingest::InputPart::edges, 2),
            csv.path().string() + "/raw/edge.csv.gz, line 3");
  expect_error(ErrorKind::internal, {"missing file"},
               [&] { tables->place(ingest::InputPart::valid, 0); });
}

TEST(OgbSource, AsksWhichOfSeveralSplits) {
  const TempFolder folder;
  write_ogb_npz(folder);
  write_split(folder, "split/time");
  write_split(folder, "split/random");
  expect_error(ErrorKind::usage, {"random, time", "--split"}, [&] {
    open_ogb({folder.path(), ""});
  });
  EXPECT_EQ(splits_of(*open_ogb({folder.path(), "random"})), kSplitNodes);
  expect_error(ErrorKind::usage, {"no split year", "random, time"}, [&] {
    open_ogb({folder.path(), "year"});
  });
}

TEST(OgbSource, RefusesANamedSplitWhereThereIsNone) {
  const TempFolder folder;
  write_ogb_npz(folder);
  expect_error(ErrorKind::usage, {"no split time", "it holds: none"}, [&] {
    open_ogb({folder.path(), "time"});
  });
}

TEST(OgbSource, RefusesASplitWithAMissingPart) {
  const TempFolder folder;
  write_ogb_npz(folder);
  write_file(folder / "split/time/train.csv", "0\n");
  write_file(folder / "split/time/test.csv", "0\n");
  expect_error(ErrorKind::input, {"split/time has no valid.csv.gz"}, [&] {
    open_ogb({folder.path(), ""});
  });
}

TEST(OgbSource, SaysWhatItLookedForInAFolderOfNoLayout) {
  const TempFolder folder;
  expect_error(ErrorKind::input, {"raw/data.npz", "raw/edge.csv.gz", "edge_index.npy"}, [&] {
    open_ogb({folder.path(), ""});
  });
  expect_error(ErrorKind::io, {"no folder"}, [&] { open_ogb({folder.path() / "missing", ""}); });
  write_file(folder / "file", "");
  expect_error(ErrorKind::input,
               {"is not the folder of an OGB data set, but a file in an unknown format"}, [&] {
                 open_ogb({folder.path() / "file", ""});
               });
}

TEST(OgbSource, NamesTheCommandForTheRightFolder) {
  const TempFolder folder;
  write_zip(folder / "papers/raw/data.npz", ogb_members());
  const std::string hint =
      "plimsoll import ogb " + (folder.path() / "papers").string() + " --out papers.plim";
  expect_error(ErrorKind::input, {hint}, [&] { open_ogb({folder.path(), ""}); });
  expect_error(ErrorKind::input, {hint}, [&] { open_ogb({folder.path() / "papers/raw/", ""}); });
}

TEST(OgbSource, DoesNotLoseTheSplitsOfARawFolderOfNpyFiles) {
  const TempFolder folder;
  write_file(folder / "raw/edge_index.npy", edge_index_npy());
  write_file(folder / "raw/node_feat.npy", node_feat_npy());
  write_split(folder, "split/time");
  expect_error(ErrorKind::input,
               {"the raw/ folder", "plimsoll import ogb " + folder.path().string() + " --out "},
               [&] {
                 open_ogb({folder.path() / "raw", ""});
               });
}

TEST(OgbSource, RefusesCountsOfNodesThatDisagree) {
  const TempFolder npz;
  auto members = ogb_members();
  members[2].bytes = count_npy(7);
  write_ogb_npz(npz, members);
  expect_error(ErrorKind::input,
               {"member num_nodes_list.npy gives 7 nodes", "member node_feat.npy gives 5"}, [&] {
                 open_ogb({npz.path(), ""});
               });

  const TempFolder csv;
  write_ogb_csv(csv);
  for (const std::string count : {"4", "7"}) {
    write_file(csv / "raw/num-node-list.csv.gz", gzipped(count + "\n"));
    const auto source = open_ogb({csv.path(), ""});
    expect_error(ErrorKind::input,
                 {"node-feat.csv.gz has 5 rows", "num-node-list.csv.gz gives " + count},
                 [&] { features_of(*source); });
    expect_error(ErrorKind::input,
                 {"node-label.csv.gz has 5 rows", "num-node-list.csv.gz gives " + count},
                 [&] { labels_of(*source); });
  }
}

TEST(OgbSource, RefusesCountsOfEdgesThatDisagree) {
  const TempFolder npz;
  auto members = ogb_members();
  members[3].bytes = count_npy(7);
  write_ogb_npz(npz, members);
  expect_error(ErrorKind::input,
               {"member num_edges_list.npy gives 7 edges", "member edge_index.npy gives 6"}, [&] {
                 open_ogb({npz.path(), ""});
               });

  const TempFolder csv;
  write_ogb_csv(csv);
  for (const std::string count : {"4", "7"}) {
    write_file(csv / "raw/num-edge-list.csv.gz", gzipped(count + "\n"));
    const auto source = open_ogb({csv.path(), ""});
    EXPECT_EQ(source->shape().edges, std::stoull(count));
    expect_error(ErrorKind::input,
                 {"edge.csv.gz has 6 rows", "num-edge-list.csv.gz gives " + count},
                 [&] { edges_of(*source); });
  }
}

TEST(OgbSource, RefusesFoldersOfSeveralGraphs) {
  const TempFolder csv;
  write_ogb_csv(csv);
  write_file(csv / "raw/num-node-list.csv.gz", gzipped("3\n2\n"));
  expect_error(ErrorKind::input, {"num-node-list.csv.gz has 2 lines", "one graph"}, [&] {
    open_ogb({csv.path(), ""});
  });
  const TempFolder npz;
  auto members = ogb_members();
  members[2].bytes = npy<int64_t>("<i8", {2}, {3, 2});
  write_ogb_npz(npz, members);
  expect_error(ErrorKind::input, {"num_nodes_list.npy is int64 of shape (2,)", "one graph"}, [&] {
    open_ogb({npz.path(), ""});
  });
}

TEST(OgbSource, RefusesGraphsWithoutFeatures) {
  const TempFolder csv;
  write_file(csv / "raw/edge.csv", kEdgesCsv);
  expect_error(ErrorKind::input, {"no node-feat.csv.gz"}, [&] { open_ogb({csv.path(), ""}); });
  const TempFolder npy_files;
  write_file(npy_files / "raw/edge_index.npy", edge_index_npy());
  expect_error(ErrorKind::input, {"no array of features (node_feat or x)", "edge_index.npy"}, [&] {
    open_ogb({npy_files.path(), ""});
  });
}

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

struct CsvFiles {
  std::string edges = kEdgesCsv;
  std::string features = kFeaturesCsv;
  std::string labels = kLabelsCsv;
};

std::unique_ptr<ingest::InputGraph> csv_of(const TempFolder& folder, const CsvFiles& files = {}) {
  write_file(folder / "edges.csv", files.edges);
  write_file(folder / "features.csv", gzipped(files.features));
  write_file(folder / "labels.csv", files.labels);
  write_file(folder / "split/train.csv", "0\n3\n");
  write_file(folder / "split/valid.csv.gz", gzipped("1\n"));
  write_file(folder / "split/test.csv", "4");
  return open_csv({folder / "edges.csv", folder / "features.csv", folder / "labels.csv",
                   folder.path() / "split"});
}

TEST(CsvSource, ReadsAllItsParts) {
  const TempFolder folder;
  const auto source = csv_of(folder);
  EXPECT_TRUE(source->shape().has_labels);
  expect_the_graph(*source);
  EXPECT_EQ(splits_of(*source), kSplitNodes);
}

TEST(CsvSource, ReadsEdgesAndFeaturesAlone) {
  const TempFolder folder;
  csv_of(folder);
  const auto source = open_csv({folder / "edges.csv", folder / "features.csv", {}, {}});
  EXPECT_FALSE(source->shape().has_labels);
  expect_the_graph(*source);
  EXPECT_TRUE(splits_of(*source).empty());
}

TEST(CsvSource, PassesOverHeadersAndCountsThemAsLines) {
  const TempFolder folder;
  const CsvFiles files = {.edges = "src,dst\n" + kEdgesCsv,
                          .features = "a,b,c\n" + kFeaturesCsv,
                          .labels = "label\n" + kLabelsCsv};
  csv_of(folder, files);
  write_file(folder / "split/train.csv", "node_id\n0\n3\n");
  write_file(folder / "split/valid.csv.gz", gzipped("id\n1\n"));
  const auto source = open_csv({folder / "edges.csv", folder / "features.csv",
                                folder / "labels.csv", folder.path() / "split"});
  const std::string root = folder.path().string();
  EXPECT_EQ(source->place(ingest::InputPart::edges, 0), root + "/edges.csv, line 2");
  EXPECT_EQ(source->place(ingest::InputPart::features, 0), root + "/features.csv, line 2");
  EXPECT_EQ(source->place(ingest::InputPart::labels, 0), root + "/labels.csv, line 2");
  EXPECT_EQ(source->place(ingest::InputPart::valid, 0), root + "/split/valid.csv.gz, line 2");
  EXPECT_EQ(source->readings().at(1).what, "features.csv (header: a,b,c)");
  expect_the_graph(*source);
  EXPECT_EQ(splits_of(*source), kSplitNodes);

  const TempFolder bad;
  const auto bad_source =
      csv_of(bad, {.edges = "src,dst\n0,1\n0,9\n", .features = "a,b\n1,2\n3,x\n5,6\n7,8\n9,0\n"});
  expect_error(ErrorKind::input, {"edges.csv, line 3, field 2: id 9"},
               [&] { edges_of(*bad_source); });
  expect_error(ErrorKind::input, {"features.csv, line 3, field 2: 'x'"},
               [&] { features_of(*bad_source); });
}

TEST(OgbSource, PassesOverHeadersOfCsvFiles) {
  const TempFolder folder;
  write_file(folder / "raw/edge.csv.gz", gzipped("src,dst\n" + kEdgesCsv));
  write_file(folder / "raw/node-feat.csv.gz", gzipped("a,b,c\n" + kFeaturesCsv));
  write_file(folder / "raw/node-label.csv.gz", gzipped("label\n" + kLabelsCsv));
  write_file(folder / "raw/num-node-list.csv.gz", gzipped("nodes\n5\n"));
  const auto source = open_ogb({folder.path(), ""});
  expect_the_graph(*source);
}

void expect_csv_refused(const CsvFiles& files, const std::vector<std::string>& parts) {
  const TempFolder folder;
  expect_error(ErrorKind::input, parts, [&] { csv_of(folder, files); });
}

TEST(CsvSource, RefusesColumnsThatAHeaderSaysAreOthers) {
  expect_csv_refused({.edges = "src,dst,weight\n0,1,0.5\n"},
                     {"edges.csv, line 2 has 3 columns (src,dst,weight)", "cut -d, -f1,2"});
  expect_csv_refused({.edges = "0,1,0.5\n"}, {"edges.csv, line 1 has 3 columns, but"});
  expect_csv_refused({.edges = "target,source\n0,1\n"},
                     {"edges.csv, line 1", "'target,source' names the destination first"});
  expect_csv_refused({.features = "node_id,a\n"
                                  "0,1\n1,1\n2,1\n3,1\n4,1\n"},
                     {"features.csv, line 1", "first column is 'node_id'", "cut -d, -f2-"});
  expect_csv_refused({.labels = "Node_ID,label\n0,1\n"},
                     {"labels.csv, line 1", "first column is 'Node_ID'"});
  expect_csv_refused({.features = "0,1,2\r\n" + kFeaturesCsv},
                     {"features.csv, line 1 counts from 0 to 2", "pandas", "0.0"});
}

TEST(CsvSource, RefusesFeaturesAndLabelsOfDifferentLength) {
  const TempFolder folder;
  const auto source = csv_of(folder, {.labels = "0\n1\n0\n"});
  EXPECT_EQ(source->shape().nodes, 3U);
  expect_error(ErrorKind::input, {"features.csv has 5 rows", "lines of", "labels.csv gives 3"},
               [&] { features_of(*source); });
}

TEST(CsvSource, NamesTheLineOfARaggedRow) {
  const TempFolder folder;
  const auto source = csv_of(folder, {.features = "1,2\n3,4\n5\n6,7\n8,9\n"});
  expect_error(ErrorKind::input, {"features.csv, line 3 has 1 field, 2 expected"},
               [&] { features_of(*source, 5); });
}

TEST(CsvSource, RefusesEmptyFiles) {
  const TempFolder folder;
  expect_error(ErrorKind::input, {"has no edges"}, [&] { csv_of(folder, {.edges = ""}); });
  expect_error(ErrorKind::input, {"has no nodes"}, [&] { csv_of(folder, {.labels = ""}); });
  expect_error(ErrorKind::input, {"features.csv is empty"},
               [&] { csv_of(folder, {.features = ""}); });
}

TEST(CsvSource, RefusesMissingFilesAndFolders) {
  const TempFolder folder;
  csv_of(folder);
  expect_error(ErrorKind::io, {"no-edges.csv"}, [&] {
    open_csv({folder / "no-edges.csv", folder / "features.csv", {}, {}});
  });
  expect_error(ErrorKind::io, {"no-split", "train.csv"}, [&] {
    open_csv({folder / "edges.csv", folder / "features.csv", {}, folder / "no-split"});
  });
}

// A ring of many nodes whose only feature is the node's own id.
class ManyThreads : public testing::TestWithParam<std::string> {
 protected:
  static constexpr uint32_t kNodes = 100'000;

  std::unique_ptr<ingest::InputGraph> open() {
    std::vector<int64_t> ends(2 * kNodes);
    std::vector<float> features(kNodes);
    std::string edges_csv;
    std::string features_csv;
    for (uint32_t i = 0; i < kNodes; ++i) {
      const uint32_t next = (i + 1) % kNodes;
      ends[i] = i;
      ends[kNodes + i] = next;
      features[i] = static_cast<float>(i);
      edges_csv += fmt::format("{},{}\n", i, next);
      features_csv += fmt::format("{}\n", i);
    }
    if (GetParam() == "npz") {
      return npz_of(folder_, {{"edge_index.npy", npy("<i8", {2, kNodes}, ends)},
                              {"node_feat.npy", npy("<f4", {kNodes, 1}, features)}});
    }
    write_file(folder_ / "edges.csv", edges_csv);
    write_file(folder_ / "features.csv", features_csv);
    return open_csv({folder_ / "edges.csv", folder_ / "features.csv", {}, {}});
  }

  const TempFolder folder_;
};

TEST_P(ManyThreads, TogetherGetEveryEdgeAndEveryRowOnce) {
  const auto source = open();
  std::mutex mutex;
  std::set<uint32_t> seen_edges;
  std::set<uint64_t> seen_rows;
  const auto work = [&] {
    std::vector<uint32_t> sources(777);
    std::vector<uint32_t> destinations(777);
    while (const size_t count = source->next_edges(sources, destinations)) {
      const std::lock_guard lock(mutex);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(destinations[i], (sources[i] + 1) % kNodes);
        EXPECT_TRUE(seen_edges.insert(sources[i]).second);
      }
    }
    std::vector<float> values(777);
    for (auto rows = source->next_rows(values); rows.count > 0; rows = source->next_rows(values)) {
      const std::lock_guard lock(mutex);
      for (uint64_t i = 0; i < rows.count; ++i) {
        EXPECT_EQ(values[i], static_cast<float>(rows.first_node + i));
        EXPECT_TRUE(seen_rows.insert(rows.first_node + i).second);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  threads.clear();
  EXPECT_EQ(seen_edges.size(), kNodes);
  EXPECT_EQ(seen_rows.size(), kNodes);
}

INSTANTIATE_TEST_SUITE_P(NpzAndCsv, ManyThreads, testing::Values("npz", "csv"),
                         [](const auto& test) { return test.param; });

struct RealSet {
  std::string folder;
  ingest::Shape shape;
  std::map<ingest::SplitKind, size_t> split_sizes;
  int32_t classes;
};

class RealSets : public testing::TestWithParam<RealSet> {};

TEST_P(RealSets, OpenWithTheirKnownShapes) {
  const char* const given = std::getenv("PLIMSOLL_DATA");
  const std::filesystem::path repository = PLIMSOLL_SOURCE_DIR;
  const std::filesystem::path data = given != nullptr ? given : repository / "../shared/data";
  const std::filesystem::path folder = data.lexically_normal() / GetParam().folder;
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";

  const auto source = open_ogb({folder, ""});
  const ingest::Shape expected = GetParam().shape;
  EXPECT_EQ(source->shape().nodes, expected.nodes);
  EXPECT_EQ(source->shape().edges, expected.edges);
  EXPECT_EQ(source->shape().feature_columns, expected.feature_columns);
  EXPECT_TRUE(source->shape().has_labels);
  EXPECT_EQ(edges_of(*source, 65536).size(), expected.edges);
  const std::vector<float> features = features_of(*source, 4096);
  EXPECT_EQ(features.size(), expected.nodes * expected.feature_columns);
  EXPECT_TRUE(
      std::all_of(features.begin(), features.end(), [](float x) { return std::isfinite(x); }));
  const std::vector<int32_t> labels = labels_of(*source);
  EXPECT_EQ(labels.size(), expected.nodes);
  EXPECT_EQ(std::set<int32_t>(labels.begin(), labels.end()).size(), GetParam().classes);
  std::map<ingest::SplitKind, size_t> sizes;
  for (const auto& [split, nodes] : splits_of(*source)) sizes[split] = nodes.size();
  EXPECT_EQ(sizes, GetParam().split_sizes);
}

std::map<ingest::SplitKind, size_t> sizes_of(size_t train, size_t valid, size_t test) {
  return {{ingest::SplitKind::train, train},
          {ingest::SplitKind::valid, valid},
          {ingest::SplitKind::test, test}};
}

INSTANTIATE_TEST_SUITE_P(
    OfTheDataFolder, RealSets,
    testing::Values(
        RealSet{"cora", {2708, 5278, 1433, true}, sizes_of(140, 500, 1000), 7},
        RealSet{"citeseer", {3327, 4552, 3703, true}, sizes_of(120, 500, 1000), 6},
        RealSet{"computers", {13752, 245861, 128, true}, sizes_of(200, 300, 13752 - 500), 10},
        RealSet{"physics", {34493, 247962, 128, true}, sizes_of(100, 150, 34493 - 250), 5},
        RealSet{"arxiv-structure", {169343, 1166243, 64, true}, sizes_of(90941, 29799, 48603), 40}),
    [](const auto& test) {
      std::string name = test.param.folder;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace plimsoll::formats
