#include "sample/topology.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "graph/store.h"
#include "small_graph.h"
#include "temp_folder.h"

namespace plimsoll::sample {
namespace {

namespace fs = std::filesystem;

class TopologyTest : public testing::Test {
 protected:
  void write(const Lists& lists) { write_store(folder_, {.lists = lists}); }
  Topology load(unsigned threads = 1, const TopologyLines& lines = {}) {
    return load_topology(graph::open(folder_), ledger_, lines, threads,
                         [this](uint64_t bytes) { told_bytes_ += bytes; });
  }
  // As one thread reads them.
  Lists lists_of(const Topology& topology) {
    ListReader reader(topology, ledger_, {});
    std::vector<uint32_t> nodes(topology.nodes());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::vector<ListBounds> bounds(nodes.size());
    reader.bounds(nodes, bounds.data());
    std::vector<uint64_t> places;
    for (const auto& [begin, degree] : bounds) {
      for (uint64_t i = 0; i < degree; ++i) places.push_back(begin + i);
    }
    std::vector<uint32_t> neighbors(places.size());
    reader.neighbors(places, neighbors.data());
    Lists lists;
    auto next = neighbors.begin();
    for (const auto& [begin, degree] : bounds) {
      lists.emplace_back(next, next + static_cast<ptrdiff_t>(degree));
      next += static_cast<ptrdiff_t>(degree);
    }
    return lists;
  }
  void expect_refusal(const std::vector<std::string>& parts) {
    expect_error(ErrorKind::store, parts, [&] { load(); });
    expect_error(ErrorKind::store, parts, [&] { load(3); });
    EXPECT_EQ(ledger_.used_bytes(), 0U);
  }

  TempFolder temp_;
  fs::path folder_ = temp_ / "store";
  memory::Ledger ledger_{64 * kMiB};
  std::atomic<uint64_t> told_bytes_ = 0;
};

TEST_F(TopologyTest, HasTheListsOfItsStore) {
  const Lists lists = random_lists(2000, 30, 1);
  write(lists);
  const Topology topology = load();
  EXPECT_TRUE(topology.resident());
  EXPECT_EQ(topology.nodes(), lists.size());
  const uint64_t edges = flatten(lists).neighbors.size();
  EXPECT_EQ(topology.edges(), edges);
  EXPECT_EQ(lists_of(topology), lists);
  EXPECT_EQ(told_bytes_, (lists.size() + 1) * 8 + edges * 4);
}

TEST_F(TopologyTest, IsReadInPiecesByThreads) {
  // 1.2 million neighbours, so two pieces.
  Lists lists(1200);
  for (uint32_t node = 0; node < lists.size(); ++node) {
    for (uint32_t i = 0; i < 1000; ++i) lists[node].push_back((node * 31 + i) % 1200);
  }
  write(lists);
  {
    const Topology topology = load(2);
    EXPECT_EQ(topology.edges(), 1'200'000U);
    EXPECT_EQ(lists_of(topology), lists);
  }
  overwrite<uint32_t>(folder_ / "neighbors.u32", 1'199'999, 1200);
  expect_refusal({(folder_ / "neighbors.u32").string(), "neighbour 1200 of a graph of 1200 nodes"});
}

TEST_F(TopologyTest, MayHaveNoEdgesAtAll) {
  write(Lists(5));
  const Topology topology = load(4);
  EXPECT_EQ(topology.nodes(), 5U);
  EXPECT_EQ(topology.edges(), 0U);
  EXPECT_EQ(lists_of(topology), Lists(5));
}

TEST_F(TopologyTest, IsLeasedAsTheGraphAndStaysOnDiskBeyondTheLimit) {
  const Lists lists = random_lists(2000, 30, 1);
  write(lists);
  {
    const Topology topology = load();
    ASSERT_EQ(ledger_.usage().size(), 1U);
    EXPECT_EQ(ledger_.usage().front().tag, "graph");
    EXPECT_EQ(ledger_.usage().front().bytes, told_bytes_);
  }
  memory::Ledger small(2001 * sizeof(uint64_t));
  const Topology topology = load_topology(graph::open(folder_), small, {}, 1, [](uint64_t) {});
  EXPECT_TRUE(topology.offsets().resident());
  EXPECT_EQ(topology.neighbors().line_bytes(), 0U);
  EXPECT_EQ(small.used_bytes(), small.limit_bytes());
  EXPECT_EQ(lists_of(topology), lists);
}

TEST_F(TopologyTest, RefusesANeighbourThatIsNoNode) {
  write(random_lists(100, 5, 1));
  for (const uint32_t impossible : {100U, UINT32_MAX}) {
    overwrite<uint32_t>(folder_ / "neighbors.u32", 7, impossible);
    expect_refusal({(folder_ / "neighbors.u32").string(), std::to_string(impossible), "100 nodes"});
  }
}

TEST_F(TopologyTest, RefusesAListThatEndsBeforeItBegins) {
  write(random_lists(100, 5, 1));
  overwrite<uint64_t>(folder_ / "offsets.u64", 50, 3);
  expect_refusal({(folder_ / "offsets.u64").string(), "list 49 ends before it begins"});
}

TEST_F(TopologyTest, RefusesAnOffsetBeyondTheEdges) {
  write(random_lists(100, 5, 1));
  overwrite<uint64_t>(folder_ / "offsets.u64", 50, UINT64_MAX);
  expect_refusal({(folder_ / "offsets.u64").string()});
}

TEST_F(TopologyTest, RefusesListsThatDoNotBeginAtZero) {
  write(random_lists(100, 5, 1));
  overwrite<uint64_t>(folder_ / "offsets.u64", 0, 1);
  expect_refusal({(folder_ / "offsets.u64").string(), "the lists go from 1"});
}

TEST_F(TopologyTest, RefusesListsThatEndElsewhereThanTheEdges) {
  const Lists lists = random_lists(100, 5, 1);
  write(lists);
  const uint64_t edges = flatten(lists).neighbors.size();
  for (const uint64_t wrong : {edges - 1, edges + 1}) {
    // With lists before it cut down, so that none ends before it begins.
    for (uint64_t i = 90; i <= 100; ++i) overwrite<uint64_t>(folder_ / "offsets.u64", i, wrong);
    expect_refusal({(folder_ / "offsets.u64").string(), std::to_string(edges) + " expected"});
  }
}

}  // namespace
}  // namespace plimsoll::sample
