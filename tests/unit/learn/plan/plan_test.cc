#include "plan/plan.h"

#include <gtest/gtest.h>

#include "batch/seeds.h"
#include "batch/window.h"
#include "made_up_store.h"
#include "plan/layout.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

std::vector<recipe::Recipe> all_kinds() {
  return {{},
          {.norm = recipe::Norm::sampled},
          {.model = ModelKind::sage},
          {.model = ModelKind::sage, .evaluation = recipe::Evaluation::full},
          {.model = ModelKind::gat},
          {.model = ModelKind::mlp},
          {.model = ModelKind::mlp, .fanout = {1}},
          {.fanout = {10}},
          {.fanout = {10, 10, 5}},
          {.model = ModelKind::gat, .fanout = {10}},
          {.model = ModelKind::gat, .fanout = {5, 5, 5}},
          {.fanout = {recipe::kAllNeighbors, 5}},
          {.fanout = {3, 2}, .hidden = 16, .batch_size = 128}};
}

std::vector<uint64_t> limits_from(uint64_t minimum) {
  std::vector<uint64_t> limits = {minimum, minimum + 1, minimum + kMiB};
  for (uint64_t mib = minimum / kMiB + 1; mib < 8000; mib += mib / 16 + 1) {
    limits.push_back(mib * kMiB);
  }
  limits.push_back(64 * kGiB);
  return limits;
}

void expect_adds_up(const Plan& plan) {
  uint64_t sum = 0;
  for (const MemoryPart& part : plan.parts) sum += part.bytes;
  EXPECT_EQ(sum, plan.peak_bytes);
}

TEST(Plan, AddsUpAndKeepsItsHeadroomUnderEveryLimit) {
  for (const recipe::Recipe& recipe : all_kinds()) {
    const Question question = made_up_question(recipe);
    for (const uint64_t limit : limits_from(minimum_bytes(question))) {
      const Plan plan = plan_within(question, limit);
      ASSERT_TRUE(plan.fits) << limit;
      expect_adds_up(plan);
      EXPECT_LE(plan.peak_bytes + headroom_bytes(limit), limit) << describe(recipe);
    }
  }
}

TEST(Plan, FitsInItsMinimumAndNotInAMebibyteLess) {
  for (const recipe::Recipe& recipe : all_kinds()) {
    for (const unsigned workers : {0U, 1U, 6U}) {
      Question question = made_up_question(recipe);
      question.workers = workers;
      const uint64_t minimum = minimum_bytes(question);
      const Plan least = plan_within(question, minimum);
      EXPECT_TRUE(least.fits);
      EXPECT_EQ(least.minimum_bytes, minimum);
      EXPECT_LE(least.peak_bytes + headroom_bytes(minimum), minimum);
      const Plan less = plan_within(question, minimum - kMiB);
      EXPECT_FALSE(less.fits);
      EXPECT_EQ(less.minimum_bytes, minimum);
      expect_adds_up(less);
      EXPECT_GT(less.peak_bytes + headroom_bytes(minimum - kMiB), minimum - kMiB);
    }
  }
}

// Windows take memory from the lines if that saves time; the shares are tried in steps.
TEST(Plan, IsNotSlowerWithMoreMemory) {
  for (const recipe::Recipe& recipe : all_kinds()) {
    const Question question = made_up_question(recipe);
    double before = plan_within(question, minimum_bytes(question)).seconds_an_epoch;
    for (const uint64_t limit : limits_from(minimum_bytes(question))) {
      const Plan plan = plan_within(question, limit);
      if (!plan.reads_disk()) break;  // all is resident as soon as it fits
      const double seconds = plan.seconds_an_epoch;
      EXPECT_LE(seconds, 1.1 * before) << describe(recipe) << " in " << limit;
      before = std::min(before, seconds);
    }
  }
}

TEST(Plan, ReadsNoMoreAndLowersNoLineWithMoreMemoryWithoutWindows) {
  for (const recipe::Recipe& recipe : all_kinds()) {
    Question question = made_up_question(recipe);
    question.window = 1;
    Plan before = plan_within(question, minimum_bytes(question));
    for (const uint64_t limit : limits_from(minimum_bytes(question))) {
      const Plan plan = plan_within(question, limit);
      EXPECT_LE(plan.reads.all(), before.reads.all()) << describe(recipe) << " in " << limit;
      const Lines& lines = plan.arrangement.lines;
      EXPECT_GE(lines.offsets_bytes, before.arrangement.lines.offsets_bytes);
      EXPECT_GE(lines.neighbors_bytes, before.arrangement.lines.neighbors_bytes);
      EXPECT_GE(lines.features_bytes, before.arrangement.lines.features_bytes);
      before = plan;
    }
    EXPECT_FALSE(before.reads_disk());
    EXPECT_EQ(before.arrangement.lines, all_resident(question.work()));
  }
}

TEST(Plan, HoldsEverythingAsSoonAsItFits) {
  for (const recipe::Recipe& recipe : all_kinds()) {
    const Question question = made_up_question(recipe);
    const Plan roomy = plan_within(question, 64 * kGiB);
    const Plan enough =
        plan_within(question, roomy.peak_bytes + headroom_bytes(roomy.peak_bytes * 2));
    EXPECT_EQ(enough.arrangement.lines, all_resident(question.work()));
    EXPECT_EQ(enough.reads.all(), 0);
    EXPECT_EQ(enough.features_resident, 1);
  }
}

// A store so small that keeping it costs less than buffers to read it with.
TEST(Plan, HoldsATinyStoreEvenInItsMinimum) {
  const Question question = made_up_question({.batch_size = 8}, 2000);
  EXPECT_FALSE(plan_within(question, minimum_bytes(question)).reads_disk());
}

TEST(Plan, TakesBatchesOfEverySize) {
  uint64_t before = 0;
  for (const uint64_t size : {1, 2, 3, 10, 100, 1000, 1024, 5000, 10'000, 99'999, 100'000}) {
    const Question question = made_up_question({.batch_size = size});
    const uint64_t minimum = minimum_bytes(question);
    EXPECT_TRUE(plan_within(question, minimum).fits);
    EXPECT_FALSE(plan_within(question, minimum - kMiB).fits);
    EXPECT_GE(minimum + kMiB, before) << "batch size " << size;
    const Plan plan = plan_within(question, 16 * kGiB);
    EXPECT_EQ(plan.batches, (question.store.train_nodes + size - 1) / size);
    before = minimum;
  }
}

TEST(Plan, DoesWithoutSplits) {
  Question question = made_up_question({});
  question.store.evaluated_nodes = 0;
  EXPECT_TRUE(plan_within(question, kGiB).fits);
  question.store.train_nodes = 0;
  question.probe = expect_batch({.hops = std::vector<Draws::Hop>(2)}, question.store, 1024);
  const Plan plan = plan_within(question, kGiB);
  EXPECT_EQ(plan.batches, 0);
  EXPECT_EQ(plan.seconds_an_epoch, 0);
  expect_adds_up(plan);
}

TEST(Plan, IsThereForABatchThatMayReachEverything) {
  Question question = made_up_question({.fanout = {recipe::kAllNeighbors, recipe::kAllNeighbors}});
  question.probe = expect_batch({.hops = std::vector<Draws::Hop>(2)}, question.store, 1024);
  const uint64_t minimum = minimum_bytes(question);
  EXPECT_GT(minimum, question.store.edges * 8);
  EXPECT_TRUE(plan_within(question, minimum).fits);
}

TEST(Plan, KeepsTheWorkersItWasGiven) {
  for (const unsigned workers : {1U, 3U, 9U}) {
    Question question = made_up_question({});
    question.workers = workers;
    for (const uint64_t limit : {minimum_bytes(question), 2 * kGiB, 64 * kGiB}) {
      EXPECT_EQ(plan_within(question, limit).arrangement.workers, workers);
    }
  }
}

TEST(Plan, KeepsTheWindowItWasGivenWhereItFits) {
  for (const unsigned window : {1U, 4U, 16U}) {
    Question question = made_up_question({});
    question.window = window;
    EXPECT_LE(plan_within(question, minimum_bytes(question)).arrangement.window, window);
    EXPECT_EQ(plan_within(question, 2 * kGiB).arrangement.window, window);
    // With all in memory there is nothing to read.
    EXPECT_EQ(plan_within(question, 64 * kGiB).arrangement.window, 1U);
  }
}

TEST(Plan, CountsTheWindowsAsAPart) {
  Question question = made_up_question({});
  question.window = 8;
  const Plan plan = plan_within(question, 2 * kGiB);
  const auto part = std::ranges::find(plan.parts, std::string("windows"), &MemoryPart::name);
  ASSERT_NE(part, plan.parts.end());
  EXPECT_EQ(part->bytes, windows_bytes(question.work(), plan.arrangement));
  EXPECT_GE(part->bytes, batch::kWindows * plan.arrangement.window_bytes);
  EXPECT_LE(plan.peak_bytes, plan.limit_bytes);
}

// A disk that is fast enough, and batches that take long to make.
TEST(Plan, HasMoreBatchesUnderWayWhereThatSavesTime) {
  Question question = made_up_question({});
  question.machine.reads_per_second = question.machine.most_reads_per_second = 1e9;
  question.machine.read_bytes_per_second = 1e12;
  question.machine.read_seconds = 1e-2;  // to be waited for by several
  question.window = 1;
  unsigned before = 0;
  for (const uint64_t limit : {minimum_bytes(question), 500 * kMiB, kGiB, 2 * kGiB}) {
    const Arrangement arrangement = plan_within(question, limit).arrangement;
    EXPECT_GE(arrangement.workers, before);
    before = arrangement.workers;
  }
  EXPECT_GT(before, 2);
}

TEST(Plan, CountsWhatEvaluatingWithAllNeighboursMarks) {
  const Question sampled = made_up_question({.fanout = {5, 5, 5}});
  const Question full =
      made_up_question({.fanout = {5, 5, 5}, .evaluation = recipe::Evaluation::full});
  EXPECT_GE(minimum_bytes(full), minimum_bytes(sampled) + 2 * sampled.store.nodes / 8);
}

// It makes do with what is left: no limit is too small for it that is large enough for training.
TEST(Plan, ExpectsAnEvaluationWithAllNeighboursToUseWhatIsSpare) {
  const recipe::Recipe recipe = {.model = ModelKind::sage, .evaluation = recipe::Evaluation::full};
  const Question full = made_up_question(recipe);
  const Plan roomy = plan_within(full, 64 * kGiB);
  ASSERT_EQ(roomy.parts.back().name, "evaluation");
  EXPECT_GT(roomy.parts.back().bytes, full.store.evaluated_nodes * full.recipe.hidden * 4);
  expect_adds_up(roomy);
  const Plan wide = plan_within(
      made_up_question(
          {.model = ModelKind::sage, .hidden = 512, .evaluation = recipe::Evaluation::full}),
      64 * kGiB);
  EXPECT_GT(wide.parts.back().bytes, roomy.parts.back().bytes);
  const Question sampled = made_up_question({.model = ModelKind::sage});
  EXPECT_EQ(plan_within(sampled, 64 * kGiB).parts.back().name, "runtime");
  EXPECT_LT(minimum_bytes(full), minimum_bytes(sampled) + 16 * kMiB);
}

// However small its batches are, a training that evaluates with all neighbours can do so.
TEST(Plan, HasRoomInItsMinimumForTheLeastOfAnEvaluationWithAllNeighbours) {
  const auto minimum = [](recipe::Evaluation evaluation) {
    const Question question = made_up_question(
        {.fanout = {1, 1}, .hidden = 64, .batch_size = 1, .evaluation = evaluation}, 100'000);
    return minimum_bytes(question);
  };
  EXPECT_GT(minimum(recipe::Evaluation::full), minimum(recipe::Evaluation::sampled) + 4 * kMiB);
}

// However small its batches are, a training can load its splits and read its checkpoint before
// there are any.
TEST(Plan, HasRoomInItsMinimumForWhatIsDoneWithoutBatches) {
  const auto needed = [](uint64_t checkpoint_bytes) {
    Question question =
        made_up_question({.fanout = {1}, .hidden = 4, .batch_size = 1}, /*nodes=*/1000);
    question.checkpoint_bytes = checkpoint_bytes;
    const uint64_t kept = question.runtime_bytes +
                          batch::splits_bytes(question.store.split_nodes()) +
                          model_bytes(question.work());
    return least_layout(question, /*reads_disk=*/false).taken.all_bytes() - kept;
  };
  EXPECT_GE(needed(0), batch::splits_loading_bytes());
  EXPECT_EQ(needed(20 * kMiB), 20 * kMiB);
}

TEST(Plan, CountsWhatIsKeptOfTheEpochs) {
  Question question = made_up_question({});
  const uint64_t without = least_layout(question, /*reads_disk=*/true).taken.all_bytes();
  question.epochs_bytes = 3 * kMiB;
  EXPECT_EQ(least_layout(question, /*reads_disk=*/true).taken.all_bytes(), without + 3 * kMiB);
}

// A pass of one batch and a small one has no use for the places of many.
// Lines once, everything else once for each rank.
TEST(Plan, CountsTheLinesOfAHostOnceForAllItsRanks) {
  for (const recipe::Recipe& recipe : all_kinds()) {
    const Question one = made_up_question(recipe);
    Question four = one;
    four.host_ranks = 4;
    const Plan alone = plan_within(one, 64 * kGiB);
    const Plan together = plan_within(four, 64 * kGiB);
    expect_adds_up(together);
    const uint64_t lines = line_bytes(alone.arrangement.lines);
    EXPECT_EQ(line_bytes(together.arrangement.lines), lines);
    EXPECT_EQ(together.needed_bytes, 4 * alone.needed_bytes) << describe(recipe);
    EXPECT_EQ(together.host_ranks, 4U);
    EXPECT_EQ(together.runtime_bytes, alone.runtime_bytes);
  }
}

TEST(Plan, KeepsTheRanksOfAHostWithinTheLimit) {
  for (const recipe::Recipe& recipe : all_kinds()) {
    Question question = made_up_question(recipe);
    question.ranks = 8;
    question.host_ranks = 4;
    for (const uint64_t limit : limits_from(minimum_bytes(question))) {
      const Plan plan = plan_within(question, limit);
      ASSERT_TRUE(plan.fits) << limit;
      expect_adds_up(plan);
      EXPECT_LE(plan.peak_bytes + headroom_bytes(limit), limit) << describe(recipe);
      const uint64_t lines = line_bytes(plan.arrangement.lines);
      EXPECT_LE(lines + 4 * (ledger_bytes(plan) - lines), limit - headroom_bytes(limit));
      EXPECT_GE(ledger_bytes(plan), lines + plan.needed_bytes / 4);
    }
  }
}

TEST(Plan, GivesOneRankTheWholeLedger) {
  const Plan plan = plan_within(made_up_question({}), 8 * kGiB);
  EXPECT_EQ(ledger_bytes(plan), 8 * kGiB - headroom_bytes(8 * kGiB));
}

TEST(Plan, CountsNoMoreBatchesThanAPassHas) {
  const auto batches_bytes = [](uint64_t batch_size) {
    Question question = made_up_question({.batch_size = batch_size}, 1'000'000);
    question.probe = made_up_question({.batch_size = 10'000}, 1'000'000).probe;  // of equal size
    return plan_within(question, 100 * kGiB).parts[2].bytes;
  };
  // 11,111 training nodes.
  EXPECT_LT(batches_bytes(12'000), batches_bytes(10'000));
  EXPECT_LT(batches_bytes(10'000), batches_bytes(6'000));
  EXPECT_LT(batches_bytes(6'000), batches_bytes(1'000));
  EXPECT_EQ(batches_bytes(1'000), batches_bytes(100));
}

TEST(Headroom, IsAShareAndNeverLessThanSomething) {
  EXPECT_EQ(headroom_bytes(kGiB), kLeastHeadroomBytes);
  EXPECT_EQ(headroom_bytes(100 * kGiB), static_cast<uint64_t>(0.03 * 100 * kGiB));
}

}  // namespace
}  // namespace plimsoll::plan
