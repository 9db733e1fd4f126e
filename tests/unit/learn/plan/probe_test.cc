#include "plan/probe.h"

#include <gtest/gtest.h>

#include <numeric>

#include "made_up_store.h"

namespace plimsoll::plan {
namespace {

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Four seeds, 0 to 3; two of them draw node 100, all of them 200.
Draws four_seeds() {
  return {.seeds = 4,
          .nodes = {0, 1, 2, 3, 100, 200},
          .degrees = {2, 2, 1, 1, 9, 9},
          .hops = {{.destinations = 4, .offsets = {0, 2, 4, 5, 6}, .indices = {4, 5, 4, 5, 5, 5}},
                   {.destinations = 6, .offsets = {0, 1, 1, 1, 1, 1, 2}, .indices = {5, 0}}}};
}

StoreShape small_store() {
  return {.nodes = 1000,
          .edges = 5000,
          .row_bytes = 256,
          .train_nodes = 400,
          .marks = {{0, 0}, {2, 10}, {150, 1000}, {1000, 5000}}};
}

TEST(ExpectBatch, CountsDifferentNodesOfABatchCutFromTheDraws) {
  const Probe all = expect_batch(four_seeds(), small_store(), 4);
  EXPECT_EQ(all.batch.seeds, 4);
  EXPECT_EQ(all.batch.nodes, 6);
  ASSERT_EQ(all.batch.hops.size(), 2);
  EXPECT_EQ(all.batch.hops[0].destinations, 4);
  EXPECT_EQ(all.batch.hops[0].edges, 6);
  EXPECT_EQ(all.batch.hops[1].destinations, 6);
  EXPECT_EQ(all.batch.hops[1].edges, 2);
}

TEST(ExpectBatch, TakesTheAverageAndTheLargestOfSmallerBatches) {
  // {0, 1} reaches 0, 1, 100, 200; {2, 3} reaches 2, 3, 200 and then 0.
  const Probe pairs = expect_batch(four_seeds(), small_store(), 2);
  EXPECT_EQ(pairs.batch.seeds, 2);
  EXPECT_EQ(pairs.batch.nodes, 4);
  EXPECT_EQ(pairs.batch.hops[0].edges, 3);
  EXPECT_EQ(pairs.batch.hops[1].destinations, 4);  // 4 and 3, rounded up
  EXPECT_GE(pairs.largest.hops[0].edges, 4);
  EXPECT_GE(pairs.largest.nodes, pairs.batch.nodes);
}

// A batch of an evaluation may have more seeds than one of training.
TEST(ExpectBatch, IsLargestInTheLongestPass) {
  StoreShape store = small_store();
  store.train_nodes = 2;
  store.evaluated_nodes = 100;
  const Probe probe = expect_batch(four_seeds(), store, 4);
  EXPECT_EQ(probe.batch.seeds, 2);
  EXPECT_EQ(probe.batch.nodes, 4);
  EXPECT_EQ(probe.largest.seeds, 2);
  ASSERT_TRUE(probe.evaluated);
  EXPECT_EQ(probe.evaluated->seeds, 4);
  EXPECT_GE(probe.evaluated->nodes, 6);
  EXPECT_GE(probe.evaluated->hops[1].destinations, 6);
  store.evaluated_nodes = 0;
  EXPECT_FALSE(expect_batch(four_seeds(), store, 4).evaluated);
  store.asked_nodes = 3;
  EXPECT_EQ(expect_batch(four_seeds(), store, 4).evaluated->seeds, 3);
}

TEST(ExpectBatch, SaysWhereInTheOrderItsNodesAre) {
  const Probe all = expect_batch(four_seeds(), small_store(), 4);
  ASSERT_EQ(all.visited.size(), 3);
  // 0 and 1; 2, 3 and 100; 200; and a little for what was never drawn.
  EXPECT_NEAR(all.visited[0], 2, 0.1);
  EXPECT_NEAR(all.visited[1], 3, 0.2);
  EXPECT_NEAR(all.visited[2], 1, 0.9);
  EXPECT_GT(all.visited[2], 1);
  // Twice from the list of node 0, once from 1; once from each of 2 and 3; from 200.
  EXPECT_NEAR(all.list_reads[0], 3, 0.1);
  EXPECT_NEAR(all.list_reads[1], 2, 0.2);
  EXPECT_NEAR(all.list_reads[2], 1, 0.9);
}

// Ten picks from a list of a hundred values share a read or two; from a hub's they are on their
// own.
TEST(ExpectBatch, CountsMoreReadsForLongerLists) {
  Draws draws{.seeds = 1, .nodes = {0}, .degrees = {100}};
  draws.hops.push_back({.destinations = 1, .offsets = {0, 10}});
  draws.hops[0].indices.assign(10, 0);
  const auto reads = [&](uint32_t degree) {
    draws.degrees = {degree};
    return expect_batch(draws, small_store(), 1).list_reads[0];
  };
  EXPECT_NEAR(reads(10), 1, 0.1);
  EXPECT_NEAR(reads(100), 1, 0.3);
  EXPECT_GT(reads(1000), 2);
  EXPECT_NEAR(reads(1'000'000), 10, 0.1);
}

TEST(ExpectBatch, GrowsWithTheBatchSizeAndNeverBeyondTheGraph) {
  const StoreShape store = made_up_store(200'000, 3'000'000);
  const Draws draws = made_up_draws(store, {15, 10}, 300);
  BatchSize before;
  for (const uint64_t seeds : {1, 2, 7, 100, 299, 300, 301, 1000, 2000, 100'000}) {
    const Probe probe = expect_batch(draws, store, seeds);
    EXPECT_EQ(probe.batch.seeds, std::min<uint64_t>(seeds, store.train_nodes));
    EXPECT_GE(probe.batch.nodes, before.nodes);
    EXPECT_GE(probe.batch.hops[1].edges, before.hops.empty() ? 0 : before.hops[1].edges);
    EXPECT_GE(probe.batch.nodes, probe.batch.hops[1].destinations);
    EXPECT_GE(probe.batch.hops[1].destinations, probe.batch.hops[0].destinations);
    EXPECT_LE(probe.largest.nodes, store.nodes);
    EXPECT_GE(probe.largest.nodes, probe.batch.nodes);
    EXPECT_LE(sum(probe.visited), static_cast<double>(store.nodes));
    before = probe.batch;
  }
}

TEST(ExpectBatch, GuessesABatchLargerThanTheDrawsWell) {
  const StoreShape store = made_up_store(10'000'000, 150'000'000);
  for (const std::vector<uint32_t>& fanout : {std::vector<uint32_t>{15, 10}, {5, 5, 5}, {3, 2}}) {
    const Probe guessed = expect_batch(made_up_draws(store, fanout, 300), store, 2400);
    const Probe drawn = expect_batch(made_up_draws(store, fanout, 2400), store, 2400);
    const auto nodes = static_cast<double>(drawn.batch.nodes);
    EXPECT_NEAR(static_cast<double>(guessed.batch.nodes), nodes, 0.1 * nodes);
    const auto edges = static_cast<double>(drawn.batch.hops.back().edges);
    EXPECT_NEAR(static_cast<double>(guessed.batch.hops.back().edges), edges, 0.1 * edges);
  }
}

// A batch of a large graph is as many parts of a small one: it meets itself as often.
TEST(ExpectBatch, GuessesABatchOfALargeGraphFromASmallOneWell) {
  constexpr uint64_t kScale = 16;
  const StoreShape large = made_up_store(16'000'000, 240'000'000);
  const StoreShape small = made_up_store(16'000'000 / kScale, 240'000'000 / kScale);
  Draws draws = made_up_draws(small, {15, 10}, 512);
  draws.scale = kScale;
  StoreShape estimate = large;
  estimate.marks.clear();
  for (const Mark& mark : small.marks) {
    estimate.marks.push_back({mark.node * kScale, mark.edges * kScale});
  }
  for (const uint64_t size : {64, 512, 1024, 4096}) {
    const Probe guessed = expect_batch(draws, estimate, size);
    const Probe real = expect_batch(made_up_draws(large, {15, 10}, 4096), large, size);
    const auto close = [](double a, double b) { EXPECT_NEAR(a / b, 1, 0.2); };
    EXPECT_EQ(guessed.batch.seeds, size);
    close(static_cast<double>(guessed.batch.nodes), static_cast<double>(real.batch.nodes));
    close(static_cast<double>(guessed.batch.hops[1].destinations),
          static_cast<double>(real.batch.hops[1].destinations));
    close(static_cast<double>(guessed.batch.hops[1].edges),
          static_cast<double>(real.batch.hops[1].edges));
    close(std::accumulate(guessed.visited.begin(), guessed.visited.end(), 0.0),
          std::accumulate(real.visited.begin(), real.visited.end(), 0.0));
  }
}

TEST(ExpectBatch, MayReachEverythingWhereNothingCouldBeDrawn) {
  const StoreShape store = made_up_store(100'000, 1'000'000);
  const Probe probe = expect_batch({.hops = std::vector<Draws::Hop>(2)}, store, 64);
  EXPECT_EQ(probe.largest.nodes, store.nodes);
  EXPECT_EQ(probe.largest.hops[0].destinations, 64);
  EXPECT_EQ(probe.largest.hops[1].edges, store.edges);
}

TEST(ExpectBatch, IsEmptyWithoutTrainingNodes) {
  StoreShape store = made_up_store(100'000, 1'000'000);
  store.train_nodes = 0;
  const Probe probe = expect_batch({.hops = std::vector<Draws::Hop>(2)}, store, 64);
  EXPECT_EQ(probe.batch.nodes, 0);
  EXPECT_EQ(probe.batch.hops.size(), 2);
  EXPECT_EQ(sum(probe.visited), 0);
}

TEST(ExpectBatch, IsItsSeedsForMlp) {
  const StoreShape store = made_up_store(100'000, 1'000'000);
  for (const uint64_t seeds : {50, 700}) {
    const Probe probe = expect_batch(made_up_draws(store, {}, 200), store, seeds);
    EXPECT_EQ(probe.largest.nodes, seeds);
    EXPECT_TRUE(probe.largest.hops.empty());
  }
}

}  // namespace
}  // namespace plimsoll::plan
