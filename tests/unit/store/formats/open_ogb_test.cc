#include <gtest/gtest.h>

#include "formats/open_graph.h"
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

TEST(OgbSource, PassesOverHeadersOfCsvFiles) {
  const TempFolder folder;
  write_file(folder / "raw/edge.csv.gz", gzipped("src,dst\n" + kEdgesCsv));
  write_file(folder / "raw/node-feat.csv.gz", gzipped("a,b,c\n" + kFeaturesCsv));
  write_file(folder / "raw/node-label.csv.gz", gzipped("label\n" + kLabelsCsv));
  write_file(folder / "raw/num-node-list.csv.gz", gzipped("nodes\n5\n"));
  const auto source = open_ogb({folder.path(), ""});
  expect_the_graph(*source);
}

}  // namespace
}  // namespace plimsoll::formats
