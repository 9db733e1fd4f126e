#include "memory/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/units.h"

namespace plimsoll::memory {
namespace {

using namespace std::chrono_literals;

MemorySample sample(double seconds, uint64_t ledger_bytes, uint64_t resident_bytes) {
  return {.seconds = seconds, .ledger_bytes = ledger_bytes, .resident_bytes = resident_bytes};
}

TEST(SampleSeries, KeepsAllWhileThereIsRoom) {
  SampleSeries series(4);
  for (int i = 0; i < 4; ++i) series.add(sample(i, 10 + i, 20 - i));
  EXPECT_EQ(series.samples(), (std::vector{sample(0, 10, 20), sample(1, 11, 19), sample(2, 12, 18),
                                           sample(3, 13, 17)}));
}

TEST(SampleSeries, MakesOneOfTwoWhenItIsFullAndThenOneOfEveryTwo) {
  SampleSeries series(4);
  for (int i = 0; i < 5; ++i) series.add(sample(i, 10 + i, 20 - i));
  EXPECT_EQ(series.samples(),
            (std::vector{sample(0, 11, 20), sample(2, 13, 18), sample(4, 14, 16)}));
  for (int i = 5; i < 9; ++i) series.add(sample(i, 10 + i, 20 - i));
  EXPECT_EQ(series.samples(),
            (std::vector{sample(0, 13, 20), sample(4, 17, 16), sample(8, 18, 12)}));
}

TEST(SampleSeries, StaysWithinItsBoundsAndNeverLosesAPeak) {
  for (const size_t capacity : {0, 1, 2, 3, 10, 64}) {
    SampleSeries series(capacity);
    for (int i = 0; i < 10'000; ++i) {
      series.add(sample(i, i == 1234 ? 500 : 1, i == 7777 ? 900 : 2));
      ASSERT_LE(series.samples().size(), std::max<size_t>(capacity, 2));
    }
    const auto& all = series.samples();
    ASSERT_GE(all.size(), std::max<size_t>(capacity / 2, 1));
    EXPECT_EQ(all.front().seconds, 0);
    uint64_t ledger_peak = 0;
    uint64_t resident_peak = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      ledger_peak = std::max(ledger_peak, all[i].ledger_bytes);
      resident_peak = std::max(resident_peak, all[i].resident_bytes);
      if (i > 0) {
        EXPECT_EQ(all[i].seconds, static_cast<double>(i) * all[1].seconds);
      }
      if (all[i].ledger_bytes == 500) {
        EXPECT_LE(all[i].seconds, 1234);
      }
    }
    EXPECT_EQ(ledger_peak, 500U);
    EXPECT_EQ(resident_peak, 900U);
  }
}

TEST(Timeline, FollowsTheLedgerAndTheResidentSize) {
  Ledger ledger(kGiB);
  const Timeline timeline(ledger);
  const auto saw = [&](uint64_t ledger_bytes) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < end) {
      const auto samples = timeline.samples();
      if (!samples.empty() && samples.back().ledger_bytes == ledger_bytes) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  };
  EXPECT_TRUE(saw(0));
  {
    const Lease lease = ledger.lease("rows", 512 * kMiB);
    EXPECT_TRUE(saw(512 * kMiB));
  }
  EXPECT_TRUE(saw(0));
  const auto samples = timeline.samples();
  ASSERT_GE(samples.size(), 3U);
  for (size_t i = 1; i < samples.size(); ++i) {
    EXPECT_GT(samples[i].seconds, samples[i - 1].seconds);
  }
  EXPECT_GE(samples[2].seconds, 0.19);
  EXPECT_LT(samples[0].seconds, 10);
  EXPECT_GT(samples[0].resident_bytes, 512 * kKiB);
}

TEST(TagSeries, KeepsPeaksInABoundedNumberOfSamples) {
  TagSeries series(16);
  for (size_t i = 0; i < 10'000; ++i) {
    const uint64_t bytes = i == 4'321 ? 999 : 10;
    series.add(static_cast<double>(i), bytes + 1, {{"rows", bytes}});
    ASSERT_LE(series.samples().size(), 16U);
  }
  const auto peak = std::ranges::max_element(
      series.samples(), {}, [](const TagSample& one) { return one.tag_bytes.at(0); });
  EXPECT_EQ(peak->tag_bytes[0], 999U);
  EXPECT_EQ(peak->resident_bytes, 1000U);
  EXPECT_EQ(series.samples().front().seconds, 0);
}

TEST(TagSeries, ATagThatComesLaterHasNothingBefore) {
  TagSeries series(8);
  series.add(0, 5, {{"first", 5}});
  series.add(1, 9, {{"second", 7}, {"first", 2}});
  EXPECT_EQ(series.tags(), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(series.samples()[0].tag_bytes, (std::vector<uint64_t>{5}));
  EXPECT_EQ(series.samples()[1].tag_bytes, (std::vector<uint64_t>{2, 7}));
}

TEST(TagSeries, TagsBeyondTheMostAreAddedUp) {
  TagSeries series(8);
  std::vector<Ledger::Usage> usage;
  for (size_t i = 0; i < 100; ++i) usage.push_back({"tag " + std::to_string(i), 1});
  series.add(0, 100, usage);
  EXPECT_EQ(series.tags().size(), TagSeries::kMostTags);
  EXPECT_EQ(series.tags().back(), TagSeries::kOtherTags);
  uint64_t sum = 0;
  for (const uint64_t bytes : series.samples()[0].tag_bytes) sum += bytes;
  EXPECT_EQ(sum, 100U);
}

}  // namespace

}  // namespace plimsoll::memory
