#include "plan/fastest.h"

#include <gtest/gtest.h>

#include "made_up_store.h"

namespace plimsoll::plan {
namespace {

class FindFastest : public testing::Test {
 protected:
  FindFastest()
      : question_(made_up_question({})), draws_(made_up_draws(question_.store, {15, 10}, 600)) {}

  Fastest find(uint64_t limit_bytes, const Freedom& freedom = {}) {
    question_.limit_bytes = limit_bytes;
    return find_fastest(question_, draws_, freedom);
  }
  Freedom any_size() const { return {.batch_sizes = usual_batch_sizes(question_)}; }

  Question question_;
  Draws draws_;
};

TEST_F(FindFastest, TriesPowersOfTwoAroundTheDefault) {
  EXPECT_EQ(usual_batch_sizes(question_), (std::vector<uint64_t>{256, 512, 1024, 2048, 4096}));
  question_.store.train_nodes = 700;
  EXPECT_EQ(usual_batch_sizes(question_), (std::vector<uint64_t>{256, 512, 1024}));
  question_.store.train_nodes = 3;
  EXPECT_EQ(usual_batch_sizes(question_), (std::vector<uint64_t>{256}));
}

TEST_F(FindFastest, IsNeverSlowerThanTheQuestion) {
  for (const uint64_t limit : {400 * kMiB, kGiB, 2 * kGiB, 16 * kGiB}) {
    const Fastest fastest = find(limit, any_size());
    const Plan own = plan_within(question_, limit);
    EXPECT_TRUE(fastest.best.plan.fits);
    EXPECT_TRUE(!own.fits || fastest.best.plan.seconds_an_epoch <= own.seconds_an_epoch);
    const bool changed = fastest.best.batch_size != question_.recipe.batch_size ||
                         fastest.best.workers != question_.workers;
    for (const Setting& setting : fastest.others) {
      EXPECT_TRUE(setting.plan.fits);
      EXPECT_LE((changed ? 1 : 0.95) * fastest.best.plan.seconds_an_epoch,
                setting.plan.seconds_an_epoch);
    }
  }
}

// Each of several sizes in a row is a little faster than the one before, none by as much as a
// change is worth, all together by more.
TEST_F(FindFastest, ComparesWithTheBestAndNotWithTheNeighbour) {
  question_.machine.making = {1e-9, 1e-12, 1e-12, 1e-12, 1e-12};
  question_.limit_bytes = 64 * kGiB;
  std::vector<uint64_t> sizes;
  for (uint64_t size = 1024; size <= 1400; size += 32) sizes.push_back(size);
  // A step costs the same whatever the batch holds.
  for (double* rate : {&question_.machine.step.narrow_flops, &question_.machine.step.wide_flops,
                       &question_.machine.step.activations, &question_.machine.step.sums,
                       &question_.machine.step.losses, &question_.machine.step.parameters}) {
    *rate *= 1e6;
  }
  const Fastest fastest = find(64 * kGiB, {.batch_sizes = sizes});
  ASSERT_EQ(fastest.others.size(), sizes.size());
  for (size_t i = 1; i < sizes.size(); ++i) {
    EXPECT_GT(fastest.others[i].plan.seconds_an_epoch,
              0.95 * fastest.others[i - 1].plan.seconds_an_epoch);
  }
  EXPECT_EQ(fastest.best.batch_size, sizes.back());
}

// More workers than batches make none of them faster.
TEST_F(FindFastest, LeavesTheWorkersToThePlanWhereOthersAreAsFast) {
  question_.store.train_nodes = 1000;
  const Fastest fastest = find(64 * kGiB, any_size());
  for (const Setting& setting : fastest.others) {
    if (setting.batch_size >= 1000) {
      EXPECT_EQ(setting.workers, 0U);
    }
  }
}

TEST_F(FindFastest, KeepsTheBatchSizeUnlessOthersAreAskedFor) {
  question_.machine.step.fixed.fill({.base = 1, .layer = 1});  // the fewer batches, the faster
  EXPECT_EQ(find(kGiB).best.batch_size, 1024);
  EXPECT_EQ(find(kGiB).others.size(), 1U);
  EXPECT_EQ(find(kGiB, {.batch_sizes = {512, 2048}}).best.batch_size, 2048);
  EXPECT_EQ(find(64 * kGiB, any_size()).best.batch_size, 4096);
}

// What the training would make of the setting is what was promised.
TEST_F(FindFastest, IsThePlanOfItsOwnSetting) {
  const Setting best = find(kGiB, any_size()).best;
  Question again = question_;
  again.recipe.batch_size = best.batch_size;
  again.workers = best.workers;
  again.probe = expect_batch(draws_, again.store, best.batch_size);
  const Plan plan = make_plan(again);
  EXPECT_EQ(plan.arrangement, best.plan.arrangement);
  EXPECT_EQ(plan.seconds_an_epoch, best.plan.seconds_an_epoch);
}

TEST_F(FindFastest, LeavesAloneWhatTheUserFixed) {
  question_.recipe.batch_size = 300;
  question_.probe = expect_batch(draws_, question_.store, 300);
  question_.workers = 3;
  const Fastest fixed = find(kGiB, {.workers = false});
  EXPECT_EQ(fixed.best.batch_size, 300);
  EXPECT_EQ(fixed.best.workers, 3);
  EXPECT_EQ(fixed.best.plan.arrangement.workers, 3);
  EXPECT_EQ(fixed.others.size(), 1);
  EXPECT_EQ(find(kGiB).best.batch_size, 300);
}

TEST_F(FindFastest, StaysWithTheQuestionWhereNothingIsWorthAChange) {
  question_.machine = {};  // no prediction tells them apart
  const Fastest fastest = find(kGiB, any_size());
  EXPECT_EQ(fastest.best.batch_size, 1024);
  EXPECT_EQ(fastest.best.workers, 0);
}

TEST_F(FindFastest, FindsASmallerBatchWhereTheDefaultDoesNotFit) {
  question_.recipe.batch_size = 256;
  question_.probe = expect_batch(draws_, question_.store, 256);
  const uint64_t limit = minimum_bytes(question_) + kMiB;
  question_.recipe.batch_size = 1024;
  question_.probe = expect_batch(draws_, question_.store, 1024);
  ASSERT_GT(minimum_bytes(question_), limit);
  EXPECT_EQ(find(limit, any_size()).best.batch_size, 256);
}

TEST_F(FindFastest, HasNothingToOfferWhereNothingFits) {
  const Fastest fastest = find(10 * kMiB, any_size());
  EXPECT_FALSE(fastest.best.plan.fits);
  EXPECT_TRUE(fastest.others.empty());
}

}  // namespace
}  // namespace plimsoll::plan
