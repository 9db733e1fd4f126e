#include <gtest/gtest.h>

#include <bit>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "formats/ogb_layout.h"
#include "formats/ogb_output.h"

namespace plimsoll::formats {
namespace {

TEST_F(OgbCsv, HasTheFilesOfArxiv) {
  write(small_graph());
  EXPECT_EQ(files(), (std::set<std::string>{
                         "graph/raw/edge.csv.gz", "graph/raw/node-feat.csv.gz",
                         "graph/raw/node-label.csv.gz", "graph/raw/node_year.csv.gz",
                         "graph/raw/num-edge-list.csv.gz", "graph/raw/num-node-list.csv.gz",
                         "graph/split/time/train.csv.gz", "graph/split/time/valid.csv.gz",
                         "graph/split/time/test.csv.gz"}));
  EXPECT_EQ(gunzip(raw("edge.csv.gz")), "0,1\n4,0\n2,3\n2,2\n1,4\n");
  EXPECT_EQ(gunzip(raw("node-feat.csv.gz")), "0,1,2\n3,4,5\n-6.5,7,8\n9,10,11\n12,13,0.1\n");
  EXPECT_EQ(gunzip(raw("num-node-list.csv.gz")), "5\n");
  EXPECT_EQ(gunzip(raw("num-edge-list.csv.gz")), "5\n");
}

TEST_F(OgbCsv, WritesUnlabelledNodesAsNan) {
  write(small_graph());
  EXPECT_EQ(gunzip(raw("node-label.csv.gz")), "2\nnan\n0\n171\nnan\n");
}

TEST_F(OgbCsv, WritesTheYearsThatNpzHolds) {
  write(small_graph());
  std::istringstream lines(gunzip(raw("node_year.csv.gz")));
  const std::vector<int64_t> years{std::istream_iterator<int64_t>(lines), {}};
  options_.layout = OgbLayout::npz;
  options_.replace = true;
  write(small_graph());
  EXPECT_EQ(years, array<int64_t>(raw("data.npz"), "node_year.npy"));
}

TEST_F(OgbCsv, WritesFeaturesThatReadBackAsTheSameFloats) {
  MadeGraph graph = large_graph();
  graph.features[0] = std::numeric_limits<float>::denorm_min();
  graph.features[1] = -std::numeric_limits<float>::max();
  graph.features[2] = -std::numeric_limits<float>::min();
  graph.features[3] = -0.0F;
  graph.features[4] = 16777216.0F;
  FakeSource source(graph);
  source.pieces_of = 100'000;
  write(source);
  const std::string text = gunzip(raw("node-feat.csv.gz"));
  const char* cursor = text.c_str();
  for (size_t i = 0; i < graph.features.size(); ++i) {
    char* end = nullptr;
    const float value = std::strtof(cursor, &end);
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(graph.features[i])) << i;
    ASSERT_EQ(*end, (i + 1) % graph.columns == 0 ? '\n' : ',') << i;
    cursor = end + 1;
  }
  EXPECT_EQ(*cursor, '\0');
}

TEST(CsvGzWriter, CallsAFullDiskAFullDisk) {
  memory::Ledger ledger(8 * kMiB);
  CsvGzWriter file(ledger, "/dev/full");
  file.add_integer(1);
  try {
    file.finish();
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::disk);
    EXPECT_NE(std::string(error.what()).find("/dev/full"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plimsoll::formats
