#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include "base/random.h"
#include "base/units.h"
#include "graph/tiny_store.h"
#include "plan/probe.h"

namespace plimsoll::plan {
namespace {

constexpr uint32_t kNodes = 2000;
constexpr uint64_t kDegree = 8;
constexpr uint64_t kManyReads = 1'000'000;

// Every node has 8 in-neighbours, the first nodes far more often than the last; 500 are trained on.
class Draw : public testing::Test {
 protected:
  Draw() {
    graph::TinyGraph graph;
    graph.offsets.resize(kNodes + 1);
    for (uint64_t i = 0; i <= kNodes; ++i) graph.offsets[i] = i * kDegree;
    graph.labels.resize(kNodes);
    graph.hotness.resize(kNodes);
    graph.train.resize(500);
    std::iota(graph.train.begin(), graph.train.end(), 700U);
    graph.neighbors.resize(kNodes * kDegree);
    for (size_t i = 0; i < graph.neighbors.size(); ++i) {
      const uint64_t place = mix64(i) % kNodes;
      graph.neighbors[i] = static_cast<uint32_t>(place * place / kNodes);
    }
    graph::write_store(folder_ / "a.plim", graph, graph::meta_of(graph));
    store_ = graph::open(folder_ / "a.plim");
  }
  Draws draw(const recipe::Recipe& recipe, uint64_t most_reads) {
    return plan::draw(store_, recipe, {.reads = most_reads}, ledger_);
  }

  TempFolder folder_;
  graph::Store store_;
  memory::Ledger ledger_{64 * kMiB};
};

TEST_F(Draw, ReachesWhatTheFanoutSays) {
  const Draws draws = draw({.fanout = {recipe::kAllNeighbors, 3}}, kManyReads);
  EXPECT_EQ(draws.seeds, 500);
  ASSERT_EQ(draws.hops.size(), 2);
  EXPECT_EQ(draws.hops[0].destinations, 500);
  EXPECT_EQ(draws.hops[0].indices.size(), 500 * kDegree);
  EXPECT_EQ(draws.hops[1].indices.size(), draws.hops[1].destinations * 3);
  EXPECT_EQ(std::set<uint32_t>(draws.nodes.begin(), draws.nodes.end()).size(), draws.nodes.size());
  for (uint64_t i = 0; i < draws.seeds; ++i) {
    EXPECT_TRUE(draws.nodes[i] >= 700 && draws.nodes[i] < 1200) << draws.nodes[i];
  }
}

TEST_F(Draw, TakesAsManySeedsAsTheReadsAllow) {
  const recipe::Recipe recipe = {.fanout = {5, 5}};
  const Draws few = draw(recipe, 1000);
  EXPECT_GE(few.seeds, 32);
  EXPECT_LT(few.seeds, 500);
  EXPECT_LT(2 * few.hops[1].destinations, 1100);
  EXPECT_EQ(draw(recipe, 0).seeds, 32);
}

// So that batches can be cut from the draws: a seed draws the same whoever else does.
TEST_F(Draw, HoldsTheNeighbourhoodOfEveryPartOfItsSeeds) {
  const recipe::Recipe recipe = {.fanout = {4, 3}};
  const StoreShape shape = read_shape(store_, ledger_);
  const Draws few = draw(recipe, 800);
  Draws many = draw(recipe, kManyReads);
  ASSERT_GT(many.seeds, few.seeds);
  many.seeds = few.seeds;  // leaves the others uncut
  const BatchSize drawn = expect_batch(few, shape, few.seeds).batch;
  const BatchSize cut = expect_batch(many, shape, few.seeds).batch;
  EXPECT_EQ(cut.nodes, drawn.nodes);
  EXPECT_EQ(cut.hops[1].destinations, drawn.hops[1].destinations);
  EXPECT_EQ(cut.hops[1].edges, drawn.hops[1].edges);
  EXPECT_EQ(drawn.nodes, few.nodes.size());
}

TEST_F(Draw, IsTheSameEveryTime) {
  EXPECT_EQ(draw({}, kManyReads).nodes, draw({}, kManyReads).nodes);
}

TEST_F(Draw, IsTheSameInMemory) {
  const Draws draws = plan::draw(store_, {}, {.reads = 1000, .in_memory = true}, ledger_);
  EXPECT_EQ(draws.nodes, draw({}, 1000).nodes);
}

// The batches of a pass in order are blocks of its list. A store's first nodes have the largest
// neighbourhoods, so random seeds would tell too little about them.
TEST_F(Draw, TakesWholeBatchesOfAListInOrderTheFirstOneFirst) {
  std::vector<uint32_t> list(1030);
  std::iota(list.begin(), list.end(), 5U);
  const recipe::Recipe recipe = {.fanout = {2}, .batch_size = 100};
  const plan::DrawBudget budget = {.reads = 900, .from = list, .in_order = true};
  const Draws draws = plan::draw(store_, recipe, budget, ledger_);
  ASSERT_GE(draws.seeds, 300U);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(draws.nodes[i], list[i]);
  std::set<uint32_t> blocks;
  for (uint64_t i = 0; i < draws.seeds; i += 100) {
    const uint32_t first = draws.nodes[i] - 5;
    EXPECT_EQ(first % 100, 0U);
    EXPECT_LT(first, 1000U);  // not of the last batch, which has 30 seeds
    EXPECT_TRUE(blocks.insert(first).second);
    for (uint64_t j = i; j < std::min(i + 100, draws.seeds); ++j) {
      EXPECT_EQ(draws.nodes[j], list[first + j - i]);
    }
  }
}

TEST_F(Draw, TakesAListInOrderThatIsShorterThanABatch) {
  const std::vector<uint32_t> list = {9, 3, 5};
  const plan::DrawBudget budget = {.reads = kManyReads, .from = list, .in_order = true};
  const Draws draws = plan::draw(store_, {.fanout = {2}, .batch_size = 100}, budget, ledger_);
  ASSERT_EQ(draws.seeds, 3U);
  EXPECT_TRUE(std::ranges::equal(std::span(draws.nodes).first(3), list));
}

TEST_F(Draw, IsItsSeedsForMlp) {
  const Draws draws = draw({.model = recipe::ModelKind::mlp}, 1000);
  EXPECT_EQ(draws.seeds, 500);
  EXPECT_EQ(draws.nodes.size(), 500);
  EXPECT_TRUE(draws.hops.empty());
}

TEST_F(Draw, DrawsFewerSeedsOrNoneWhereMemoryIsShort) {
  uint64_t before = 0;
  for (const uint64_t kib : {100, 200, 400, 4000}) {
    memory::Ledger ledger(kib * kKiB);
    try {
      const Draws draws = plan::draw(store_, {.fanout = {8, 8}}, {.reads = kManyReads}, ledger);
      EXPECT_GE(draws.seeds, before);
      EXPECT_EQ(draws.hops.size(), 2);
      before = draws.seeds;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::memory);  // not even the list of training nodes
    }
  }
  EXPECT_EQ(before, 500);
}

TEST_F(Draw, KnowsTheShapeOfTheStore) {
  const StoreShape shape = read_shape(store_, ledger_);
  EXPECT_EQ(shape.nodes, kNodes);
  EXPECT_EQ(shape.train_nodes, 500);
  EXPECT_EQ(shape.marks.front().node, 0);
  EXPECT_EQ(shape.marks.back().node, kNodes);
  for (const Mark& mark : shape.marks) EXPECT_EQ(mark.edges, mark.node * kDegree);
}

}  // namespace
}  // namespace plimsoll::plan
