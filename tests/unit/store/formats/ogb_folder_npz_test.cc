#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "formats/npz_writer.h"
#include "formats/ogb_layout.h"
#include "formats/ogb_output.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

std::string header_text(const std::string& dict) {
  const std::string prefix("\x93NUMPY\x01\x00\x76\x00", 10);
  return prefix + dict + std::string(128 - 11 - dict.size(), ' ') + "\n";
}

TEST(NpyHeader, IsWhatNumpyWrites) {
  EXPECT_EQ(npy_header(NpyType::int64, std::array<uint64_t, 2>{2, 1615685872}),
            header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1615685872), }"));
  EXPECT_EQ(npy_header(NpyType::float32, std::array<uint64_t, 2>{5, 3}),
            header_text("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"));
  EXPECT_EQ(npy_header(NpyType::int64, std::array<uint64_t, 1>{1}),
            header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"));
}

TEST_F(OgbNpz, HasTheFilesAndMembersOfPapers100M) {
  write(small_graph());
  EXPECT_EQ(files(),
            (std::set<std::string>{"graph/raw/data.npz", "graph/raw/node-label.npz",
                                   "graph/split/time/train.csv.gz", "graph/split/time/valid.csv.gz",
                                   "graph/split/time/test.csv.gz"}));
  std::vector<std::string> names;
  std::vector<std::string> headers;
  for (const WrittenMember& member : unzip(raw("data.npz"))) {
    names.push_back(member.name);
    headers.push_back(member.bytes.substr(0, 128));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"edge_index.npy", "node_feat.npy", "node_year.npy",
                                             "num_nodes_list.npy", "num_edges_list.npy"}));
  EXPECT_EQ(headers,
            (std::vector<std::string>{
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 5), }"),
                header_text("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"),
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (5, 1), }"),
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"),
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }")}));
  const std::vector<WrittenMember> labels = unzip(raw("node-label.npz"));
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].name, "node_label.npy");
  EXPECT_EQ(labels[0].bytes.substr(0, 128),
            header_text("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 1), }"));
}

TEST_F(OgbNpz, HoldsAllSourcesThenAllDestinations) {
  write(small_graph());
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "edge_index.npy"),
            (std::vector<int64_t>{0, 4, 2, 2, 1, 1, 0, 3, 2, 4}));
}

TEST_F(OgbNpz, HoldsFeaturesAndCounts) {
  write(small_graph());
  EXPECT_EQ(array<float>(raw("data.npz"), "node_feat.npy"), small_graph().features);
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "num_nodes_list.npy"), std::vector<int64_t>{5});
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "num_edges_list.npy"), std::vector<int64_t>{5});
}

TEST_F(OgbNpz, WritesUnlabelledNodesAsNan) {
  write(small_graph());
  const auto bits = array<uint32_t>(raw("node-label.npz"), "node_label.npy");
  const auto nan = std::bit_cast<uint32_t>(kNotANumber);
  EXPECT_EQ(bits, (std::vector<uint32_t>{std::bit_cast<uint32_t>(2.0F), nan, 0,
                                         std::bit_cast<uint32_t>(171.0F), nan}));
}

TEST_F(OgbNpz, DeflatesOrStoresAsAsked) {
  for (const bool deflate : {true, false}) {
    options_.deflate = deflate;
    options_.replace = true;
    write(small_graph());
    for (const char* name : {"data.npz", "node-label.npz"}) {
      for (const WrittenMember& member : unzip(raw(name))) {
        EXPECT_EQ(member.compression, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE) << member.name;
      }
    }
  }
}

TEST_F(OgbNpz, DoesNotRecordTheDayOfWriting) {
  write(small_graph());
  for (const WrittenMember& member : unzip(raw("data.npz"))) {
    const std::tm date = *std::localtime(&member.changed);
    EXPECT_EQ(date.tm_year, 80) << member.name;
    EXPECT_EQ(date.tm_yday, 0) << member.name;
  }
}

TEST_F(OgbNpz, HoldsGraphsLargerThanItsBlocks) {
  const MadeGraph graph = large_graph();
  FakeSource source(graph);
  source.pieces_of = 77'777;
  write(source);
  std::vector<uint32_t> edges = graph.sources;
  edges.insert(edges.end(), graph.destinations.begin(), graph.destinations.end());
  EXPECT_TRUE(array<int64_t>(raw("data.npz"), "edge_index.npy") == converted<int64_t>(edges));
  EXPECT_TRUE(array<float>(raw("data.npz"), "node_feat.npy") == graph.features);
  const auto labels = array<float>(raw("node-label.npz"), "node_label.npy");
  ASSERT_EQ(labels.size(), graph.nodes);
  for (uint64_t i = 0; i < graph.nodes; ++i) {
    ASSERT_EQ(std::isnan(labels[i]) ? -1 : labels[i], static_cast<float>(graph.labels[i])) << i;
  }
}

TEST_F(OgbNpz, TakesAByteANodeAndAFewMebibytes) {
  FakeSource source(large_graph());
  source.pieces_of = 1'000'000;
  write(source);
  EXPECT_LT(ledger_.peak_bytes(), source.shape().nodes + 16 * kMiB);
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_F(OgbNpz, GivesANodeTheYearOfItsSplit) {
  MadeGraph graph = small_graph();
  graph.splits = {{{3, 0}, {2}, {1}}};
  write(graph);
  const auto years = array<int64_t>(raw("data.npz"), "node_year.npy");
  ASSERT_EQ(years.size(), 5U);
  EXPECT_EQ(std::vector(years.begin(), years.begin() + 4),
            (std::vector<int64_t>{2017, 2019, 2018, 2017}));
}

TEST_F(OgbNpz, SpreadsOtherNodesOverThirtyYears) {
  MadeGraph graph = large_graph();
  graph.splits = {};
  write(graph);
  const auto years = array<int64_t>(raw("data.npz"), "node_year.npy");
  ASSERT_EQ(years.size(), graph.nodes);
  std::array<uint64_t, 30> counts = {};
  for (const int64_t year : years) {
    ASSERT_GE(year, 1990);
    ASSERT_LE(year, 2019);
    ++counts.at(static_cast<size_t>(year - 1990));
  }
  for (const uint64_t count : counts) EXPECT_NEAR(static_cast<double>(count), 10'000, 600);
}

TEST_F(OgbNpz, KeepsWaitingValuesInTheTempFolderWithoutAName) {
  options_.temp_dir = parent_ / "temp";
  fs::create_directory(options_.temp_dir);
  std::set<std::string> while_writing;
  FakeSource source(small_graph());
  source.before_rows = [&] { while_writing.merge(files()); };
  write(source);
  ASSERT_FALSE(while_writing.empty());
  for (const std::string& name : while_writing) EXPECT_TRUE(name.starts_with("graph.partial/"));

  options_.temp_dir = parent_ / "missing";
  options_.replace = true;
  FakeSource again(small_graph());
  const Error error = failure(again);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace plimsoll::formats
