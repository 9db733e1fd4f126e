#include "memory/tag_series.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plimsoll::memory {
namespace {

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
