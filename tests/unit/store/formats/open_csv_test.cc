#include <gtest/gtest.h>

#include "formats/open_graph.h"
#include "formats/small_graph.h"

namespace plimsoll::formats {
namespace {

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

}  // namespace
}  // namespace plimsoll::formats
