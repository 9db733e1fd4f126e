#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "formats/ogb_output.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

TEST_F(OgbFolder, ListsTheNodesOfASplitInTheirOrder) {
  options_.split_name = "sales_ranking";
  write(small_graph());
  EXPECT_EQ(gunzip(split("train.csv.gz")), "3\n0\n");
  EXPECT_EQ(gunzip(split("valid.csv.gz")), "2\n");
  EXPECT_EQ(gunzip(split("test.csv.gz")), "");
}

TEST_F(OgbFolder, RefusesASplitNameThatLeavesTheFolder) {
  for (const char* name : {"", ".", "..", "../time", "a/b"}) {
    options_.split_name = name;
    FakeSource source(small_graph());
    EXPECT_EQ(failure(source).kind(), ErrorKind::usage) << name;
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OgbFolder, LeavesOutWhatTheGraphLacks) {
  const MadeGraph bare{.nodes = 3, .columns = 0, .sources = {0}, .destinations = {2}};
  write(bare);
  EXPECT_EQ(files(), std::set<std::string>{"graph/raw/data.npz"});
  for (const WrittenMember& member : unzip(raw("data.npz")))
    EXPECT_NE(member.name, "node_feat.npy");

  options_.layout = OgbLayout::csv;
  options_.replace = true;
  write(bare);
  EXPECT_EQ(files(), (std::set<std::string>{"graph/raw/edge.csv.gz", "graph/raw/node_year.csv.gz",
                                            "graph/raw/num-edge-list.csv.gz",
                                            "graph/raw/num-node-list.csv.gz"}));
}

TEST_F(OgbFolder, WritesAGraphWithoutEdges) {
  MadeGraph graph = small_graph();
  graph.sources = {};
  graph.destinations = {};
  write(graph);
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "edge_index.npy"), std::vector<int64_t>{});
  EXPECT_EQ(array<float>(raw("data.npz"), "node_feat.npy"), graph.features);
}

TEST_F(OgbFolder, ReplacesAFolderOnlyWhenAsked) {
  write(small_graph());
  FakeSource source(small_graph());
  EXPECT_EQ(failure(source).kind(), ErrorKind::exists);
  options_.replace = true;
  options_.split_name = "other";
  write(source);
  EXPECT_TRUE(fs::exists(split("train.csv.gz")));
  EXPECT_FALSE(fs::exists(options_.out / "split" / "time"));
}

TEST_F(OgbFolder, PassesOnWhatTheSourceThrowsAndLeavesNothing) {
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    options_.layout = layout;
    FakeSource source(small_graph());
    source.before_rows = [] { fail(ErrorKind::input, "row 7 is broken"); };
    const Error error = failure(source);
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "row 7 is broken");
    EXPECT_TRUE(fs::is_empty(parent_));
  }
}

TEST_F(OgbFolder, PassesOnAnInterruption) {
  FakeSource source(small_graph());
  source.before_rows = [] { throw Interrupted(SIGTERM); };
  EXPECT_THROW(write(source), Interrupted);
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OgbFolder, RefusesASourceThatDoesNotKeepToItsShape) {
  const auto claims = std::to_array<std::function<void(ingest::Shape&)>>({
      [](ingest::Shape& shape) { shape.edges += 1; },
      [](ingest::Shape& shape) { shape.edges -= 1; },
      [](ingest::Shape& shape) { shape.nodes += 1; },
      [](ingest::Shape& shape) { shape.nodes += 1, shape.has_labels = false; },
  });
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    for (const auto& claim : claims) {
      options_.layout = layout;
      FakeSource source(small_graph());
      claim(source.claimed_shape());
      EXPECT_EQ(failure(source).kind(), ErrorKind::internal);
      EXPECT_TRUE(fs::is_empty(parent_));
    }
  }
}

TEST_F(OgbFolder, RefusesAGraphThatTheDiskCannotHold) {
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    options_.layout = layout;
    FakeSource source(small_graph());
    source.claimed_shape().edges = uint64_t{1} << 50;
    const OgbFolderSpace needed = space_needed(source.shape(), options_);
    const Error error = failure(source);
    EXPECT_EQ(error.kind(), ErrorKind::disk);
    const std::string total = format_bytes(needed.folder_bytes + needed.temporary_bytes);
    EXPECT_NE(std::string(error.what()).find(total), std::string::npos) << error.what();
    EXPECT_TRUE(fs::is_empty(parent_));
  }
}

TEST_F(OgbFolder, NeverTakesMoreThanTheSpaceItAsksFor) {
  MadeGraph graph = large_graph();
  graph.splits = {};
  for (uint32_t i = 0; i < graph.nodes; ++i) graph.splits.at(i % 3).push_back(i);
  for (float& value : graph.features) value = -std::abs(value) * 1e-30F;
  options_.replace = true;
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    for (const bool deflate : {true, false}) {
      options_.layout = layout;
      options_.deflate = deflate;
      FakeSource source(graph);
      source.pieces_of = 100'000;
      write(source);
      uint64_t taken = 0;
      for (const std::string& name : files()) {
        // Text compresses well here; another graph's might not.
        taken +=
            name.ends_with(".gz") ? gunzip(parent_ / name).size() : fs::file_size(parent_ / name);
      }
      EXPECT_LE(taken, space_needed(source.shape(), options_).folder_bytes);
      EXPECT_GT(taken, 0U);
    }
  }
  EXPECT_GE(space_needed({300'000, 700'000, 3, true}, {}).temporary_bytes, 4U * 700'000);
}

TEST_F(OgbFolder, NamesTheFileThatCannotBeWritten) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit tight = {4 * kMiB, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  FakeSource source(large_graph());
  source.pieces_of = 100'000;
  options_.deflate = false;
  const Error error = failure(source);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("raw/data.npz"), std::string::npos) << error.what();
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OgbFolder, RefusesToWorkBeyondTheMemoryLimit) {
  memory::Ledger tight(2 * kMiB);
  FakeSource source(small_graph());
  try {
    write_ogb_folder(source, options_, tight, progress_);
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

}  // namespace
}  // namespace plimsoll::formats
