#include "plan/timing.h"

#include <gtest/gtest.h>

#include "made_up_store.h"

namespace plimsoll::plan {
namespace {

constexpr Arrangement kRoomy = {.workers = 4, .computing = 2};

TEST(PredictTime, IsTheDisksWhereEverythingIsRead) {
  Question question = made_up_question({});
  question.machine.reads_per_second = 1000;
  const Reads reads = predict_reads(question.work(), {0, 0, 0});
  EXPECT_NEAR(predict_time(question, kRoomy, reads),
              static_cast<double>(question.batches()) * reads.all() / 1000, 1);
}

TEST(PredictTime, CountsBytesWhereRowsAreLong) {
  Question question = made_up_question({});
  question.store.row_bytes = 1 << 20;
  const Reads reads = {.rows = 1000};
  question.machine.read_bytes_per_second = 1e6;
  EXPECT_NEAR(predict_time(question, kRoomy, reads),
              static_cast<double>(question.batches()) * 1000 * 1.048576, 10);
}

TEST(PredictTime, FallsWithFewerReadsAndFasterParts) {
  const Question question = made_up_question({});
  const double read = predict_time(question, kRoomy, {.lists = 1e5, .rows = 1e5});
  const double less = predict_time(question, kRoomy, {.lists = 1e5});
  const double none = predict_time(question, kRoomy, {});
  EXPECT_GT(read, less);
  EXPECT_GT(less, none);
  EXPECT_GT(none, 0);
  Question faster = question;
  faster.machine.flops_per_second *= 100;
  faster.machine.rows_per_second *= 100;
  EXPECT_LT(predict_time(faster, kRoomy, {}), none / 10);
}

TEST(PredictTime, FallsWithWorkersWhileTheyAreWhatIsSlow) {
  Question question = made_up_question({.hidden = 16});
  const Reads reads = {.lists = 1e4, .rows = 1e5};
  double before = predict_time(question, {.workers = 1, .computing = 2}, reads);
  const double one = before;
  for (const unsigned workers : {2U, 3U, 6U}) {
    const double seconds = predict_time(question, {.workers = workers, .computing = 2}, reads);
    EXPECT_LE(seconds, before);
    before = seconds;
  }
  EXPECT_LT(before, one);
}

TEST(PredictTime, LeavesOutWhatAGpuComputes) {
  Question question = made_up_question({.hidden = 4096});
  const double cpu = predict_time(question, kRoomy, {});
  question.gpu = true;
  EXPECT_LT(predict_time(question, kRoomy, {}), cpu / 10);
}

TEST(PredictTime, IsUnknownOnAnUnknownMachine) {
  Question question = made_up_question({});
  question.machine = {};
  EXPECT_EQ(predict_time(question, kRoomy, {}), 0);
}

}  // namespace
}  // namespace plimsoll::plan
