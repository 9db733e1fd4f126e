#include "plan/timing.h"

#include <gtest/gtest.h>

#include "made_up_store.h"

namespace plimsoll::plan {
namespace {

constexpr Arrangement kRoomy = {.workers = 4, .computing = 2};

TEST(PredictTime, IsTheDisksWhereEverythingIsRead) {
  Question question = made_up_question({});
  question.machine.reads_per_second = question.machine.most_reads_per_second = 1000;
  const Reads reads = predict_reads(question.work(), {0, 0, 0});
  EXPECT_NEAR(predict_time(question, kRoomy, reads),
              static_cast<double>(question.batches()) * reads.all() / 1000, 1);
}

// A worker reads by a queue of its own; several queues read more, until the disk does no more.
TEST(PredictTime, IsThatOfAsManyQueuesAsThereAreWorkers) {
  Question question = made_up_question({});
  question.machine.reads_per_second = 1000;
  question.machine.most_reads_per_second = 3000;
  const Reads reads = predict_reads(question.work(), {0, 0, 0});
  const auto seconds = [&](unsigned workers) {
    return predict_time(question, {.workers = workers, .computing = 1}, reads);
  };
  const double alone = static_cast<double>(question.batches()) * reads.all() / 1000;
  EXPECT_NEAR(seconds(1), alone, alone / 20);
  EXPECT_NEAR(seconds(2), alone / 2, alone / 20);
  EXPECT_NEAR(seconds(8), alone / 3, alone / 20);
}

// With another epoch before it, the first window of an epoch is read in time. So a window may have
// all batches of an epoch, and each row is read once.
TEST(PredictTime, CountsTheFirstWindowOnlyOfALoneEpoch) {
  const auto seconds = [&](uint64_t epochs, unsigned windows) {
    Question question = made_up_question({.epochs = epochs});
    question.machine.read_bytes_per_second = 1e7;
    question.machine.most_reads_per_second = 1e4;
    const unsigned window = static_cast<unsigned>(question.batches()) / windows;
    const Arrangement arrangement = {.lines = {0, 0, 0},
                                     .workers = 2,
                                     .computing = 2,
                                     .window = window,
                                     .drawing = 2,
                                     .price = read_price(question.machine)};
    return predict_time(question, arrangement, {.rows = 1000});
  };
  EXPECT_LT(seconds(2, 1), seconds(2, 2));  // fewer reads
  EXPECT_LT(seconds(2, 2), seconds(1, 2));
  EXPECT_GT(seconds(1, 1) - seconds(2, 1), seconds(1, 2) - seconds(2, 2));
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
  for (double* rate : {&faster.machine.step.narrow_flops, &faster.machine.step.wide_flops,
                       &faster.machine.step.activations, &faster.machine.step.sums,
                       &faster.machine.step.losses, &faster.machine.step.parameters}) {
    *rate *= 100;
  }
  for (double* seconds :
       {&faster.machine.making.edge_seconds, &faster.machine.making.row_seconds,
        &faster.machine.making.copy_seconds, &faster.machine.making.sort_seconds}) {
    *seconds /= 100;
  }
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

// A small batch costs what its operations cost by themselves, whatever they compute.
TEST(PredictTime, IsTheOperationsForSmallBatches) {
  Question question = made_up_question({.fanout = {1, 1}, .hidden = 4, .batch_size = 1});
  question.machine.making = {1e-6, 1e-9, 1e-9, 1e-9, 1e-9};
  for (const recipe::ModelKind kind :
       {recipe::ModelKind::gcn, recipe::ModelKind::sage, recipe::ModelKind::gat}) {
    question.recipe.model = kind;
    question.machine.step.fixed.at(static_cast<size_t>(kind)) = {.base = 3e-4, .layer = 1e-4};
    EXPECT_NEAR(step_seconds(question, 2), 5e-4, 1e-4);
    EXPECT_NEAR(predict_time(question, kRoomy, {}),
                static_cast<double>(question.batches()) * step_seconds(question, 2), 1);
  }
}

TEST(PredictTime, CountsProductsSumsAndActivationsOfEveryModel) {
  for (const recipe::ModelKind kind : {recipe::ModelKind::gcn, recipe::ModelKind::sage,
                                       recipe::ModelKind::gat, recipe::ModelKind::mlp}) {
    const Question question = made_up_question({.model = kind, .fanout = {10, 10, 5}});
    const double before = step_seconds(question, 2);
    const auto slower = [&](double StepRates::*rate) {
      Question other = question;
      other.machine.step.*rate /= 2;
      return step_seconds(other, 2);
    };
    const bool summed = kind == recipe::ModelKind::gcn || kind == recipe::ModelKind::sage;
    EXPECT_GT(slower(&StepRates::wide_flops), before);
    EXPECT_GT(slower(&StepRates::activations), before);
    EXPECT_GT(slower(&StepRates::losses), before);
    EXPECT_GT(slower(&StepRates::parameters), before);
    EXPECT_EQ(slower(&StepRates::sums) > before, summed);
    EXPECT_EQ(slower(&StepRates::attention) > before, kind == recipe::ModelKind::gat);
    EXPECT_LT(step_seconds(question, 4), before) << "more threads compute faster";
  }
}

// What is one block is computed by one thread.
TEST(PredictTime, OfASmallBatchIsThatOfOneThread) {
  const Question small = made_up_question({.fanout = {2, 2}, .hidden = 16, .batch_size = 16});
  EXPECT_EQ(step_seconds(small, 8), step_seconds(small, 1));
  const Question large = made_up_question({.fanout = {10, 10}, .batch_size = 4096});
  EXPECT_NEAR(step_seconds(large, 1) / step_seconds(large, 2), 1.9, 0.2);
}

TEST(PredictTime, IsAGpusLaunchesOrItsWork) {
  Question question = made_up_question({});
  question.gpu = true;
  question.machine.step.copied_bytes = 1e13;
  for (double* rate : {&question.machine.step.narrow_flops, &question.machine.step.wide_flops,
                       &question.machine.step.activations, &question.machine.step.sums,
                       &question.machine.step.losses, &question.machine.step.parameters}) {
    *rate *= 1000;
  }
  question.machine.step.fixed.fill({.base = 4e-4, .layer = 3e-4});
  EXPECT_NEAR(step_seconds(question, 1), 1e-3, 1e-5);  // launches hide what is computed
  question.machine.step.wide_flops = 1e9;
  const double computing = step_seconds(question, 1);
  EXPECT_GT(computing, 0.1);
  question.machine.step.fixed.fill({});
  EXPECT_NEAR(step_seconds(question, 1), computing, computing / 100);
  question.machine.step.copied_bytes = 1e3;  // a slow bus
  EXPECT_GT(step_seconds(question, 1), 100 * computing);
}

// What is read from a disk that nobody has measured takes a time that nobody knows.
TEST(PredictTime, IsUnknownWithAnUnknownDisk) {
  Question question = made_up_question({});
  question.machine.reads_per_second = 0;
  EXPECT_EQ(predict_time(question, kRoomy, {.rows = 1}), 0);
  EXPECT_GT(predict_time(question, kRoomy, {}), 0);
}

TEST(PredictTime, IsUnknownOnAnUnknownMachine) {
  Question question = made_up_question({});
  question.machine = {};
  EXPECT_EQ(predict_time(question, kRoomy, {}), 0);
}

}  // namespace
}  // namespace plimsoll::plan
