#include "train/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace plimsoll::train {
namespace {

TEST(FormatPass, LooksLikeTqdm) {
  EXPECT_EQ(format_pass({.title = "Training",
                         .total = 9432,
                         .done = 3961,
                         .elapsed_seconds = 64.2,
                         .loss = 1.68}),
            "Training:  42%|████▏     | 3961/9432 [01:04<01:28, 61.70it/s, loss=1.68]");
  EXPECT_EQ(format_pass({.title = "Training",
                         .total = 9432,
                         .done = 9432,
                         .elapsed_seconds = 152.87,
                         .loss = 1.68}),
            "Training: 100%|██████████| 9432/9432 [02:32<00:00, 61.70it/s, loss=1.68]");
}

TEST(FormatPass, KnowsNothingAtTheBeginning) {
  EXPECT_EQ(format_pass({.title = "Evaluating", .total = 10}),
            "Evaluating:   0%|          | 0/10 [00:00<?, ?it/s]");
}

TEST(FormatPass, TurnsASlowRateAround) {
  EXPECT_EQ(format_pass({.title = "Training", .total = 4, .done = 1, .elapsed_seconds = 2.5}),
            "Training:  25%|██▌       | 1/4 [00:02<00:07,  2.50s/it]");
}

TEST(FormatPass, ShowsHours) {
  EXPECT_EQ(
      format_pass({.title = "Training", .total = 7200, .done = 3600, .elapsed_seconds = 3600}),
      "Training:  50%|█████     | 3600/7200 [1:00:00<1:00:00,  1.00it/s]");
}

TEST(FormatPass, CountsOnlyItsOwnBatchesForTheRate) {
  EXPECT_EQ(format_pass({.title = "Training",
                         .total = 100,
                         .first = 80,
                         .done = 90,
                         .elapsed_seconds = 1,
                         .loss = 0.0123}),
            "Training:  90%|█████████ | 90/100 [00:01<00:01, 10.00it/s, loss=0.0123]");
}

TEST(FormatPass, BearsAPassOfNoBatches) {
  EXPECT_EQ(format_pass({.title = "Evaluating"}),
            "Evaluating: 100%|██████████| 0/0 [00:00<?, ?it/s]");
}

TEST(FormatEpoch, IsTheLineThatUsersLookFor) {
  EXPECT_EQ(format_epoch({.epoch = 1,
                          .loss = 1.68,
                          .valid_accuracy = 0.5012,
                          .test_accuracy = 0.4987,
                          .seconds = 186.3}),
            "Epoch 001 | Loss: 1.6800 | Val: 0.5012 | Test: 0.4987 | Time: 186s");
  EXPECT_EQ(format_epoch({.epoch = 2, .loss = 1.65, .seconds = 152}),
            "Epoch 002 | Loss: 1.6500 | Time: 152s");
  EXPECT_EQ(format_epoch({.epoch = 1234, .loss = 0.5, .valid_accuracy = 1, .seconds = 3.21}),
            "Epoch 1234 | Loss: 0.5000 | Val: 1.0000 | Time: 3.2s");
}

TEST(FormatEpoch, RoundsShortTimesToOneDecimal) {
  EXPECT_EQ(format_epoch({.epoch = 1, .loss = 1, .seconds = 9.94}),
            "Epoch 001 | Loss: 1.0000 | Time: 9.9s");
  EXPECT_EQ(format_epoch({.epoch = 1, .loss = 1, .seconds = 9.96}),
            "Epoch 001 | Loss: 1.0000 | Time: 10s");
}

TEST(TrainReport, DrawsBarsOnStderrAndLeavesThemStanding) {
  testing::internal::CaptureStderr();
  {
    TrainReport report(/*bars=*/true);
    report.begin_pass("Training", 3, 0);
    for (uint64_t done = 1; done <= 3; ++done) report.advance(done, 1.5);
    report.begin_pass("Evaluating", 2, 0);
    report.advance(1);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("Training: 100%|██████████| 3/3 ["), std::string::npos) << text;
  EXPECT_NE(text.find("loss=1.50]\033[K\n\rEvaluating:   0%"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\033[K\n")) << text;
}

TEST(TrainReport, DrawsAtMostTenTimesASecond) {
  testing::internal::CaptureStderr();
  TrainReport report(/*bars=*/true);
  report.begin_pass("Training", 1'000, 0);
  for (uint64_t done = 1; done <= 1'000; ++done) report.advance(done, 1.5);
  report.end_pass();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_LT(std::count(text.begin(), text.end(), '\r'), 20);
}

TEST(TrainReport, PrintsOnlyEpochsWithoutBars) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  TrainReport report(/*bars=*/false);
  report.begin_pass("Training", 3, 0);
  report.advance(3, std::nan(""));
  report.end_pass();
  report.epoch({.epoch = 7, .loss = 0.25, .seconds = 1});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "Epoch 007 | Loss: 0.2500 | Time: 1.0s\n");
}

}  // namespace
}  // namespace plimsoll::train
