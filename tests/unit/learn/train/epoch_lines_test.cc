#include "train/epoch_lines.h"

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

TEST(FormatEpoch, MarksTheBest) {
  EXPECT_EQ(
      format_epoch({.epoch = 3, .loss = 1, .valid_accuracy = 0.5, .seconds = 1, .best = true}),
      "Epoch 003 | Loss: 1.0000 | Val: 0.5000 | Time: 1.0s *");
}

TEST(FormatEpoch, IsBriefOnANarrowTerminal) {
  const EpochLine line = {.epoch = 3,
                          .loss = 1.25,
                          .valid_accuracy = 0.5,
                          .test_accuracy = 0.25,
                          .seconds = 186,
                          .best = true};
  EXPECT_EQ(format_epoch(line, 40), "Epoch 003  loss 1.2500  val 0.5000 *");
  EXPECT_EQ(format_epoch(line, 80), format_epoch(line));
}

TEST(FormatPass, ShowsLessInFewerColumns) {
  const PassState state = {.title = "Epoch 3/20",
                           .total = 9432,
                           .done = 3961,
                           .elapsed_seconds = 64.2,
                           .loss = 1.68,
                           .run_seconds_left = 7384};
  EXPECT_EQ(format_pass(state, 200),
            "Epoch 3/20:  42%|████▏     | 3961/9432 [01:04<01:28, 61.70it/s, loss=1.68], run "
            "2:03:04 left");
  EXPECT_EQ(format_pass(state), format_pass(state, 200));
  EXPECT_EQ(format_pass(state, 79),
            "Epoch 3/20:  42%|████▏     | 3961/9432 [61.70it/s, loss=1.68], run 2:03:04 left");
  EXPECT_EQ(format_pass(state, 60), "Epoch 3/20:  42%|████▏     |, loss=1.68, run 2:03:04 left");
  EXPECT_EQ(format_pass(state, 41), "Epoch 3/20:  42%|████▏     | 2:03:04 left");
  EXPECT_EQ(format_pass(state, 39), "Epoch 3/20:  42%, 2:03:04 left");
  EXPECT_EQ(format_pass(state, 10), "Epoch 3/20");
}

TEST(RunSecondsLeft, CountsTheEpochsThatFollow) {
  const PassState half = {.total = 100, .done = 50, .elapsed_seconds = 10};
  // The first epoch: 20 s, as far as it is known.
  EXPECT_DOUBLE_EQ(*run_seconds_left({.epoch = 1, .epochs = 5}, half, 10), 10 + 4 * 20);
  // Earlier ones took 30 s with their evaluation.
  EXPECT_DOUBLE_EQ(*run_seconds_left({.epoch = 2, .epochs = 5, .epoch_seconds = 30}, half, 10),
                   20 + 3 * 30);
  // Slower than the earlier ones.
  EXPECT_DOUBLE_EQ(*run_seconds_left({.epoch = 5, .epochs = 5, .epoch_seconds = 12}, half, 10), 10);
  EXPECT_EQ(run_seconds_left({.epoch = 1, .epochs = 5}, {.total = 100}, 0), std::nullopt);
}

TEST(TrainReport, DrawsItsBarsInOnePlaceAndRemovesThem) {
  testing::internal::CaptureStderr();
  {
    TrainReport report(/*bars=*/true);
    report.begin_epoch({.epoch = 2, .epochs = 4, .epoch_seconds = 600});
    report.begin_pass(kTrainingTitle, 3, 0);
    for (uint64_t done = 1; done <= 3; ++done) report.advance(done, 1.5);
    report.begin_pass("Evaluating", 2, 0);
    report.advance(1);
    report.end_epochs();
    report.begin_pass("Evaluating", 7, 0);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("\rEpoch 2/4:   0%|          | 0/3 ["), std::string::npos) << text;
  EXPECT_NE(text.find("\033[K\r\033[K\rEpoch 2/4 eval:   0%"), std::string::npos) << text;
  EXPECT_NE(text.find(", run 29:"), std::string::npos) << text;
  EXPECT_NE(text.find("\rEvaluating:   0%|          | 0/7 ["), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
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
