#include "plan/layout.h"

#include <gtest/gtest.h>

#include "made_up_store.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

// papers100M with reverse edges, three hops, on a machine with a GPU that is far faster than its
// disk.
Question gpu_question() {
  const recipe::Recipe recipe = {.model = recipe::ModelKind::sage, .fanout = {10, 10, 10}};
  Question question = made_up_question(recipe, 111'000'000);
  question.store = made_up_store(111'000'000, 3'200'000'000);
  question.store.train_nodes = 1'207'179;
  question.gpu = true;
  question.threads = 16;
  question.runtime_bytes = 1400 * kMiB;
  question.limit_bytes = 16 * kGiB;
  Machine& machine = question.machine;
  machine.reads_per_second = machine.most_reads_per_second = 300'000;
  machine.threads = 16;
  for (double* rate :
       {&machine.step.narrow_flops, &machine.step.wide_flops, &machine.step.activations,
        &machine.step.sums, &machine.step.losses, &machine.step.parameters}) {
    *rate *= 200;
  }
  machine.step.copied_bytes = 2e10;
  machine.step.fixed.fill({.base = 5e-4, .layer = 3e-4});
  return question;
}

Plan with_workers(Question question, unsigned workers) {
  question.workers = workers;
  return make_plan(question);
}

TEST(GpuLayout, IsWhatRunsThereWithTheBatchesThatAreCopied) {
  const Question question = gpu_question();
  const Plan plan = make_plan(question);
  const Arrangement& arrangement = plan.arrangement;
  EXPECT_TRUE(plan.gpu);
  EXPECT_EQ(arrangement.computing, 1U);
  EXPECT_EQ(arrangement.held, 1 + kCopiedAhead);
  EXPECT_EQ(arrangement.slots(), arrangement.workers + arrangement.ahead + 3);
  Arrangement without = arrangement;
  without.held = 1;
  EXPECT_GT(
      taken_bytes(question, arrangement, true).batches_bytes,
      taken_bytes(question, without, true).batches_bytes + 2 * slot_bytes(question.work(), true));
  EXPECT_GT(plan.seconds_an_epoch, 0);
}

// Where the disk decides, more workers would only take memory from the lines.
TEST(GpuLayout, TakesNothingFromTheLinesForBatchesThatSaveNoTime) {
  Question question = gpu_question();
  question.window = 1;
  const Plan plan = make_plan(question);
  ASSERT_TRUE(plan.fits);
  ASSERT_TRUE(plan.reads_disk());
  EXPECT_LT(plan.arrangement.workers, 8U);
  for (unsigned workers = 1; workers <= question.threads + 2; ++workers) {
    const Plan other = with_workers(question, workers);
    // A limit may end while it is saved up for one more worker.
    EXPECT_LE(plan.seconds_an_epoch, 1.1 * other.seconds_an_epoch) << workers;
    if (workers > plan.arrangement.workers + 2) {
      EXPECT_GE(line_bytes(plan.arrangement.lines), line_bytes(other.arrangement.lines));
      EXPECT_LE(plan.reads.all(), other.reads.all());
    }
  }
}

TEST(GpuLayout, LowersNoLineWithMoreMemoryWithoutWindows) {
  Question question = gpu_question();
  question.window = 1;
  Lines before = {0, 0, 0};
  for (uint64_t limit = minimum_bytes(question); limit < 64 * kGiB; limit += limit / 16) {
    const Lines lines = plan_within(question, limit).arrangement.lines;
    EXPECT_GE(lines.offsets_bytes, before.offsets_bytes) << limit;
    EXPECT_GE(lines.neighbors_bytes, before.neighbors_bytes) << limit;
    EXPECT_GE(lines.features_bytes, before.features_bytes) << limit;
    before = lines;
  }
}

// A step that is bound by launches needs few threads to make its batches; a hungry one needs many.
TEST(GpuLayout, HasAsManyWorkersAsKeepTheGpuBusy) {
  Question question = gpu_question();
  question.limit_bytes = 256 * kGiB;
  question.machine.making = {1e-5, 1e-10, 1e-10, 1e-10, 1e-10};
  const Plan cheap = make_plan(question);
  EXPECT_FALSE(cheap.reads_disk());
  EXPECT_LE(cheap.arrangement.workers, 2U);
  question.machine.making = made_up_machine().making;
  const Plan dear = make_plan(question);
  EXPECT_GT(dear.arrangement.workers, 8U);
  EXPECT_LT(dear.arrangement.workers, question.threads);
}

TEST(CpuLayout, LeavesThreadsToTheComputingWhereThatIsWhatIsSlow) {
  Question question = made_up_question({.hidden = 1024});
  question.threads = 16;
  question.limit_bytes = 64 * kGiB;
  const Arrangement arrangement = make_plan(question).arrangement;
  EXPECT_LE(arrangement.workers, 3U);
  EXPECT_EQ(arrangement.computing + arrangement.workers, 16U);
  EXPECT_EQ(arrangement.held, 1U);
}

// One worker needs only a part of its core.
TEST(CpuLayout, ComputesWithAllThreadsIfBatchesAreQuicklyMade) {
  Question question = made_up_question({.hidden = 256});
  question.threads = 2;
  question.limit_bytes = 64 * kGiB;
  question.machine.making = {1e-6, 1e-9, 1e-9, 1e-9, 1e-9};
  const Arrangement quick = make_plan(question).arrangement;
  EXPECT_EQ(quick.computing, 2U);
  EXPECT_EQ(quick.workers, 1U);
  question.machine.making = {1e-2, 1e-6, 1e-6, 1e-6, 1e-6};
  EXPECT_EQ(make_plan(question).arrangement.computing, 1U);
}

// It is chosen by what is ordinary, and has no time.
TEST(Layout, IsThereForAnUnknownMachine) {
  Question question = made_up_question({});
  question.machine = {};
  for (const uint64_t limit : {minimum_bytes(question), kGiB, 64 * kGiB}) {
    const Plan plan = plan_within(question, limit);
    EXPECT_TRUE(plan.fits);
    EXPECT_EQ(plan.seconds_an_epoch, 0);
  }
  EXPECT_GT(plan_within(question, kGiB).arrangement.lines.features_bytes, 0U);
}

}  // namespace
}  // namespace plimsoll::plan
