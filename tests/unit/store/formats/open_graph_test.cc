// Graphs of every format: read by many threads, and real data sets.
#include "formats/open_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "formats/small_graph.h"

namespace plimsoll::formats {
namespace {

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
