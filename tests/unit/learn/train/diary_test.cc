#include "train/diary.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plimsoll::train {
namespace {

TEST(ThinnedEpochs, KeepsAllAsLongAsThereIsRoom) {
  ThinnedEpochs series(8);
  for (uint64_t epoch = 1; epoch <= 8; ++epoch) series.add({.epoch = epoch});
  EXPECT_EQ(series.epochs().size(), 8U);
  EXPECT_EQ(series.epochs().front().epoch, 1U);
}

TEST(ThinnedEpochs, NeverHasMoreThanItsMostAndAlwaysTheNewest) {
  ThinnedEpochs series(64);
  for (uint64_t epoch = 1; epoch <= 100'000; ++epoch) {
    series.add({.epoch = epoch});
    ASSERT_LE(series.epochs().size(), 64U);
    ASSERT_EQ(series.epochs().back().epoch, epoch);
  }
  EXPECT_GE(series.epochs().size(), 31U);
  EXPECT_TRUE(std::ranges::is_sorted(series.epochs(), {}, &EpochResult::epoch));
}

TEST(ThinnedEpochs, KeepsEpochsWithAnEvaluation) {
  ThinnedEpochs series(64);
  for (uint64_t epoch = 1; epoch <= 5'000; ++epoch) {
    EpochResult result{.epoch = epoch};
    if (epoch % 10 == 0) result.valid_accuracy = 0.5;
    series.add(result);
  }
  EXPECT_GE(
      std::ranges::count_if(series.epochs(),
                            [](const EpochResult& one) { return one.valid_accuracy.has_value(); }),
      5);
}

}  // namespace
}  // namespace plimsoll::train
