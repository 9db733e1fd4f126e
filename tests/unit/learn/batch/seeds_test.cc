#include "batch/seeds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace plimsoll::batch {
namespace {

class ShuffleOfCount : public testing::TestWithParam<uint64_t> {};

TEST_P(ShuffleOfCount, IsAPermutation) {
  const uint64_t count = GetParam();
  for (const uint64_t key : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    const Shuffle shuffle(count, key);
    std::vector<bool> seen(count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t place = shuffle.at(i);
      ASSERT_LT(place, count);
      ASSERT_FALSE(seen[place]) << place << " twice";
      seen[place] = true;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, ShuffleOfCount,
                         testing::Values(1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000,
                                         65535, 65536, 65537, 1'000'003),
                         [](const auto& param) { return std::to_string(param.param); });

TEST(Shuffle, ReachesCountsBeyondThirtyTwoBits) {
  const uint64_t count = (uint64_t{1} << 33) + 5;
  const Shuffle shuffle(count, 1);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_LT(shuffle.at(count - 1 - i), count);
}

TEST(Shuffle, IsAnotherForEveryKey) {
  constexpr uint64_t kCount = 10'000;
  const Shuffle one(kCount, 1);
  const Shuffle same(kCount, 1);
  const Shuffle two(kCount, 2);
  uint64_t alike = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(one.at(i), same.at(i));
    alike += one.at(i) == two.at(i) ? 1 : 0;
  }
  EXPECT_LE(alike, 10U);  // of two unrelated permutations, one on average
}

// Over keys, any two values come first and second equally often: Pearson's statistic stays within
// five standard deviations of its mean. Of fewer than about twenty values a Feistel network
// favours some orders by a few per cent.
TEST(Shuffle, FavoursNoOrder) {
  constexpr uint64_t kCount = 50;
  constexpr uint64_t kPairs = kCount * (kCount - 1);
  constexpr uint64_t kKeys = kPairs * 30;
  std::vector<double> counts(kCount * kCount);
  for (uint64_t key = 0; key < kKeys; ++key) {
    const Shuffle shuffle(kCount, key);
    ++counts.at(shuffle.at(0) * kCount + shuffle.at(1));
  }
  const double mean = static_cast<double>(kKeys) / kPairs;
  double statistic = 0;
  for (uint64_t i = 0; i < counts.size(); ++i) {
    if (i / kCount == i % kCount) continue;
    statistic += (counts[i] - mean) * (counts[i] - mean) / mean;
  }
  EXPECT_NEAR(statistic, kPairs - 1, 5 * std::sqrt(2.0 * (kPairs - 1)));
}

TEST(Seeds, AreAListAsItStands) {
  const std::vector<uint32_t> nodes = {3, 5, 8, 13};
  const Seeds seeds = Seeds::in_order(nodes);
  ASSERT_EQ(seeds.size(), 4U);
  for (uint64_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(seeds.place(i), i);
    EXPECT_EQ(seeds.node(i), nodes[i]);
  }
}

TEST(Seeds, AreAListShuffledWithoutBeingChanged) {
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i < 1000; ++i) nodes.push_back(i * i);
  const std::vector<uint32_t> before = nodes;
  const Seeds seeds = Seeds::shuffled(nodes, 7);
  ASSERT_EQ(seeds.size(), 1000U);
  std::vector<bool> seen(1000);
  uint64_t in_place = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t place = seeds.place(i);
    ASSERT_LT(place, 1000U);
    EXPECT_FALSE(seen[place]);
    seen[place] = true;
    EXPECT_EQ(seeds.node(place), place * place);
    in_place += place == i ? 1 : 0;
  }
  EXPECT_LE(in_place, 10U);
  EXPECT_EQ(nodes, before);
}

TEST(Seeds, AreAllNodesWithoutAList) {
  const Seeds seeds = Seeds::all(100);
  EXPECT_EQ(seeds.size(), 100U);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(seeds.node(seeds.place(i)), i);
}

TEST(Seeds, HavePartsThatKeepTheirPlaces) {
  const std::vector<uint32_t> list = {5, 7, 9, 20, 21};
  const Seeds some = Seeds::in_order(list).part(1, 3).part(1, 2);
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some.place(0), 2U);
  EXPECT_EQ(some.node(some.place(0)), 9U);
  EXPECT_EQ(some.node(some.place(1)), 20U);
  const Seeds of_all = Seeds::all(100).part(40, 10);
  EXPECT_EQ(of_all.size(), 10U);
  EXPECT_EQ(of_all.node(of_all.place(9)), 49U);
}

TEST(BatchCut, GivesEverySeedToOnePartAndPartsOfAboutTheSameSize) {
  for (const unsigned parts : {1U, 2U, 3U, 7U, 64U}) {
    for (const uint64_t seeds : {uint64_t{0}, uint64_t{1}, uint64_t{6}, uint64_t{64},
                                 uint64_t{1000}, uint64_t{0xffffffff}}) {
      uint64_t next = 0;
      for (unsigned part = 0; part < parts; ++part) {
        const BatchCut cut = {part, parts};
        EXPECT_EQ(cut.begin(seeds), next);
        next = cut.end(seeds);
        EXPECT_GE(next - cut.begin(seeds), seeds / parts);
        EXPECT_LE(next - cut.begin(seeds), seeds / parts + 1);
        EXPECT_EQ(cut.empty(seeds), next == cut.begin(seeds));
      }
      EXPECT_EQ(next, seeds);
    }
  }
}

TEST(Seeds, CountTheirBatchesTheLastOneNotFull) {
  EXPECT_EQ(Seeds::all(0).batches(10), 0U);
  EXPECT_EQ(Seeds::all(1).batches(10), 1U);
  EXPECT_EQ(Seeds::all(10).batches(10), 1U);
  EXPECT_EQ(Seeds::all(11).batches(10), 2U);
  EXPECT_EQ(Seeds::in_order({}).batches(10), 0U);
  EXPECT_EQ(Seeds::shuffled({}, 1).batches(10), 0U);
}

}  // namespace
}  // namespace plimsoll::batch
