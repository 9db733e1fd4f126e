// Arrays and files under the names that people give them: what is read, left out, or refused.
#include <gtest/gtest.h>

#include "formats/open_graph.h"
#include "formats/small_graph.h"

namespace plimsoll::formats {
namespace {

// As PyG names them.
std::vector<ZipMember> pyg_members() {
  return {{"edge_index.npy", edge_index_npy()},
          {"x.npy", node_feat_npy()},
          {"y.npy", npy<int64_t>("<i8", {5}, {0, 1, -1, 1, 0})},
          {"num_nodes.npy", npy<int64_t>("<i8", {}, {5})},
          {"train_mask.npy", bools({1, 0, 0, 1, 0})},
          {"val_mask.npy", npy<uint8_t>("|u1", {5, 1}, {0, 1, 0, 0, 0})},
          {"test_mask.npy", bools({0, 0, 0, 0, 1})}};
}

TEST(NpzSource, ReadsTheNamesAndMasksOfPyg) {
  const TempFolder folder;
  const auto source = npz_of(folder, pyg_members());
  expect_the_graph(*source);
  EXPECT_EQ(masked_nodes(*source), kSplitNodes);
  EXPECT_EQ(source->place(ingest::InputPart::train, 3),
            (folder / "graph.npz").string() + ", member train_mask.npy, row 3");
  EXPECT_TRUE(source->not_read().unknown.empty());
}

TEST(NpzSource, SaysWhatItReadsAsWhat) {
  const TempFolder folder;
  const auto source = npz_of(folder, pyg_members());
  std::vector<std::string> lines;
  for (const auto& [as, what] : source->readings()) lines.push_back(as + " from " + what);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "edges from edge_index (int64, 2 x 6)", "features from x (float32, 5 x 3)",
                       "labels from y (int64, 5)", "train from train_mask (bool, 5)",
                       "valid from val_mask (uint8, 5 x 1)", "test from test_mask (bool, 5)"}));
}

TEST(NpzSource, ReadsEdgesInEitherOrder) {
  const std::vector<int64_t> halves = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 2};
  const std::vector<int64_t> pairs = {0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 2};
  const auto array = [](const std::vector<uint64_t>& shape, bool fortran,
                        const std::vector<int64_t>& values) {
    return npy_around(npy_dict("<i8", shape, fortran),
                      {reinterpret_cast<const char*>(values.data()), values.size() * 8});
  };
  for (const std::string& edges : {array({2, 6}, false, halves), array({6, 2}, false, pairs),
                                   array({2, 6}, true, pairs), array({6, 2}, true, halves)}) {
    const TempFolder folder;
    const auto source =
        npz_of(folder, {{"edge_index.npy", edges}, {"node_feat.npy", node_feat_npy()}});
    expect_the_graph(*source);
  }
}

TEST(NpzSource, NamesThePlaceOfAnEdgeInEitherOrder) {
  const TempFolder folder;
  const auto rows =
      npz_of(folder, {{"edge_index.npy", npy<int64_t>("<i8", {3, 2}, {0, 1, 2, 9, 0, 1})},
                      {"node_feat.npy", node_feat_npy()}});
  EXPECT_EQ(rows->place(ingest::InputPart::edges, 2),
            (folder / "graph.npz").string() + ", member edge_index.npy, row 2");
  expect_error(ErrorKind::input, {"edge_index.npy at [1, 1]: id 9"}, [&] { edges_of(*rows); });
  const std::vector<int64_t> values = {0, 1, 2, 9, 0, 1};
  const TempFolder other;
  const auto fortran = npz_of(
      other, {{"edge_index.npy",
               npy_around(npy_dict("<i8", {2, 3}, true),
                          {reinterpret_cast<const char*>(values.data()), values.size() * 8})},
              {"node_feat.npy", node_feat_npy()}});
  expect_error(ErrorKind::input, {"edge_index.npy at [1, 1]: id 9"}, [&] { edges_of(*fortran); });
}

TEST(NpzSource, TakesTwoEdgesAsPygDoesAndSaysSo) {
  const TempFolder folder;
  const auto source = npz_of(folder, {{"edge_index.npy", npy<int64_t>("<i8", {2, 2}, {0, 1, 2, 3})},
                                      {"node_feat.npy", node_feat_npy()}});
  EXPECT_EQ(edges_of(*source), (std::vector<Edge>{{0, 2}, {1, 3}}));
  EXPECT_NE(source->readings().at(0).what.find("read as PyG does"), std::string::npos);
}

TEST(NpzSource, RefusesValuesOfEdgesUnlessTheyAreIgnored) {
  for (const std::string name : {"edge_weight", "edge_attr", "edge_feat", "edge-feat"}) {
    const auto members =
        with(pyg_members(), {name + ".npy", npy<float>("<f4", {6}, {1, 2, 3, 4, 5, 6})});
    expect_npz_refused(members, {"member " + name + ".npy belongs to the edges",
                                 "graph.npz --ignore " + name + " --out NAME.plim"});
    const TempFolder folder;
    const auto source = npz_of(folder, members, {.ignore = {name}});
    expect_the_graph(*source);
    EXPECT_EQ(source->not_read().ignored, (std::vector<std::string>{name}));
    EXPECT_TRUE(source->not_read().unknown.empty());
  }
}

TEST(NpzSource, NamesWhatItDoesNotRead) {
  const TempFolder folder;
  const auto source =
      npz_of(folder, with(pyg_members(), {"stopping_mask.npy", bools({0, 0, 0, 0, 0})}));
  EXPECT_EQ(source->not_read().unknown, (std::vector<std::string>{"stopping_mask"}));
}

TEST(NpzSource, RefusesTwoNamesOfOneThing) {
  const auto both = with(pyg_members(), {"node_feat.npy", node_feat_npy()});
  expect_npz_refused(both, {"member x.npy and", "member node_feat.npy are two names for the same",
                            "--ignore node_feat"});
  const TempFolder folder;
  expect_the_graph(*npz_of(folder, both, {.ignore = {"x"}}));
  expect_npz_refused(with(pyg_members(), {"train_idx.npy", npy<int64_t>("<i8", {1}, {0})}),
                     {"member train_mask.npy and", "train_idx.npy"});
}

TEST(NpzSource, RefusesToIgnoreWhatIsNotThere) {
  const TempFolder folder;
  expect_error(ErrorKind::usage, {"--ignore edge_wieght", "graph.npz"},
               [&] { npz_of(folder, pyg_members(), {.ignore = {"edge_wieght"}}); });
}

TEST(NpzSource, RefusesMasksThatAreNone) {
  const auto refuse = [](const std::string& mask, const std::vector<std::string>& parts) {
    const TempFolder folder;
    expect_error(ErrorKind::input, parts, [&] {
      splits_of(*npz_of(folder, {{"edge_index.npy", edge_index_npy()},
                                 {"x.npy", node_feat_npy()},
                                 {"train_mask.npy", mask}}));
    });
  };
  refuse(bools({1, 0, 1}), {"train_mask.npy is bool of shape (3,)", "each of the 5 nodes"});
  refuse(npy<float>("<f4", {5}, {0, 1, 0, 1, 0}), {"train_mask.npy is float32", "a mask is bool"});
  refuse(npy<uint8_t>("|u1", {5}, {0, 2, 0, 0, 0}), {"train_mask.npy at [1]: 2;", "0 and 1"});
  refuse(npy<int64_t>("<i8", {2}, {0, 3}), {"train_mask.npy is int64 of shape (2,)", "train_idx"});
}

TEST(NpzSource, ReadsOneColumnOfSeveralSplits) {
  const std::vector<uint8_t> rows = {1, 0, 1, 0, 0, 1, 1, 1, 0, 1};     // 5 nodes, 2 splits
  const std::vector<uint8_t> columns = {1, 1, 0, 1, 0, 0, 0, 1, 1, 1};  // the same by column
  const std::string_view by_column(reinterpret_cast<const char*>(columns.data()), columns.size());
  for (const std::string& mask :
       {npy<uint8_t>("|b1", {5, 2}, rows), npy_around(npy_dict("|b1", {5, 2}, true), by_column)}) {
    std::vector<ZipMember> members = pyg_members();
    members.at(4).bytes = mask;
    members.resize(5);
    expect_npz_refused(
        members, {"train_mask.npy holds 2 splits side by side", "--mask-column", "from 0 to 1"});
    const TempFolder folder;
    using Nodes = std::map<ingest::SplitKind, std::vector<uint32_t>>;
    EXPECT_EQ(masked_nodes(*npz_of(folder, members, {.ignore = {}, .mask_column = 0})),
              (Nodes{{ingest::SplitKind::train, {0, 1, 3}}}));
    EXPECT_EQ(masked_nodes(*npz_of(folder, members, {.ignore = {}, .mask_column = 1})),
              (Nodes{{ingest::SplitKind::train, {2, 3, 4}}}));
    expect_error(ErrorKind::usage, {"from 0 to 1"},
                 [&] { npz_of(folder, members, {.ignore = {}, .mask_column = 2}); });
  }
  const TempFolder folder;
  expect_error(ErrorKind::usage, {"--mask-column 0", "no mask of several columns"},
               [&] { npz_of(folder, pyg_members(), {.ignore = {}, .mask_column = 0}); });
}

TEST(NpzSource, TakesBoolsNamedIdxForAMask) {
  const TempFolder folder;
  const auto source = npz_of(folder, {{"edge_index.npy", edge_index_npy()},
                                      {"x.npy", node_feat_npy()},
                                      {"train_idx.npy", bools({1, 0, 0, 1, 0})}});
  EXPECT_EQ(masked_nodes(*source).at(ingest::SplitKind::train), (std::vector<uint32_t>{0, 3}));
}

TEST(OgbSource, NamesWhatItDoesNotRead) {
  const TempFolder csv;
  write_ogb_csv(csv);
  write_split(csv, "split/time");
  write_file(csv / "raw/node_year.csv.gz", gzipped("1\n"));
  write_file(csv / "split/time/split_dict.pt", "");
  EXPECT_EQ(open_ogb({csv.path(), ""})->not_read().unknown,
            (std::vector<std::string>{"node_year.csv.gz", "split_dict.pt"}));

  const TempFolder npz;
  write_ogb_npz(npz, with(ogb_members(), {"node_year.npy", count_npy(1)}));
  write_file(npz / "raw/notes.txt", "");
  EXPECT_EQ(open_ogb({npz.path(), ""})->not_read().unknown,
            (std::vector<std::string>{"node_year", "notes.txt"}));
}

TEST(OgbSource, RefusesFeaturesOfEdgesUnlessTheyAreIgnored) {
  const TempFolder csv;
  write_ogb_csv(csv);
  write_file(csv / "raw/edge-feat.csv.gz", gzipped("1\n"));
  expect_error(ErrorKind::input,
               {"raw/edge-feat.csv.gz belongs to the edges", "plimsoll import ogb",
                "--ignore edge-feat.csv.gz"},
               [&] {
                 open_ogb({csv.path(), ""});
               });
  for (const std::string name : {"edge-feat.csv.gz", "edge-feat", "edge_feat"}) {
    const auto source = open_ogb({.folder = csv.path(), .split_name = "", .reading = {{name}, {}}});
    EXPECT_EQ(source->not_read().ignored, (std::vector<std::string>{"edge-feat.csv.gz"}));
    expect_the_graph(*source);
  }
}

TEST(OgbSource, ReadsLabelsAndSplitsThatLieInDataNpz) {
  const TempFolder folder;
  auto members = with(ogb_members(), {"node_label.npy", node_label_npy()});
  members = with(members, {"train_mask.npy", bools({1, 0, 0, 1, 0})});
  write_zip(folder / "raw/data.npz", members);
  const auto source = open_ogb({folder.path(), ""});
  EXPECT_TRUE(source->shape().has_labels);
  EXPECT_EQ(masked_nodes(*source).at(ingest::SplitKind::train), (std::vector<uint32_t>{0, 3}));
  write_split(folder, "split/time");
  expect_error(ErrorKind::input, {"split/time holds splits, and so does", "train_mask"}, [&] {
    open_ogb({folder.path(), ""});
  });
}

TEST(OgbSource, ReadsASplitThatLiesInTheSplitFolderItself) {
  const TempFolder folder;
  write_ogb_csv(folder);
  write_split(folder, "split");
  EXPECT_EQ(splits_of(*open_ogb({folder.path(), ""})), kSplitNodes);
}

}  // namespace
}  // namespace plimsoll::formats
