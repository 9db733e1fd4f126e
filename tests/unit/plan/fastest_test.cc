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

  Question question_;
  Draws draws_;
};

TEST_F(FindFastest, TriesPowersOfTwoAroundTheDefault) {
  EXPECT_EQ(batch_sizes_to_try(question_, {}), (std::vector<uint64_t>{256, 512, 1024, 2048, 4096}));
  question_.store.train_nodes = 700;
  EXPECT_EQ(batch_sizes_to_try(question_, {}), (std::vector<uint64_t>{256, 512, 1024}));
  question_.store.train_nodes = 3;
  EXPECT_EQ(batch_sizes_to_try(question_, {}), (std::vector<uint64_t>{256}));
}

TEST_F(FindFastest, IsNeverSlowerThanTheQuestion) {
  for (const uint64_t limit : {400 * kMiB, kGiB, 2 * kGiB, 16 * kGiB}) {
    const Fastest fastest = find(limit);
    const Plan own = plan_within(question_, limit);
    EXPECT_TRUE(fastest.best.plan.fits);
    EXPECT_TRUE(!own.fits || fastest.best.plan.seconds_an_epoch <= own.seconds_an_epoch);
    for (const Setting& setting : fastest.others) {
      EXPECT_TRUE(setting.plan.fits);
      EXPECT_LE(0.95 * fastest.best.plan.seconds_an_epoch, setting.plan.seconds_an_epoch);
    }
  }
}

// What the training would make of the setting is what was promised.
TEST_F(FindFastest, IsThePlanOfItsOwnSetting) {
  const Setting best = find(kGiB).best;
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
  const Fastest fixed = find(kGiB, {.batch_size = false, .workers = false});
  EXPECT_EQ(fixed.best.batch_size, 300);
  EXPECT_EQ(fixed.best.workers, 3);
  EXPECT_EQ(fixed.best.plan.arrangement.workers, 3);
  EXPECT_EQ(fixed.others.size(), 1);
  EXPECT_EQ(find(kGiB, {.batch_size = false}).best.batch_size, 300);
  EXPECT_EQ(find(kGiB, {.workers = false}).best.plan.arrangement.workers, 3);
}

TEST_F(FindFastest, StaysWithTheQuestionWhereNothingIsWorthAChange) {
  question_.machine = {};  // no prediction tells them apart
  const Fastest fastest = find(kGiB);
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
  EXPECT_EQ(find(limit).best.batch_size, 256);
}

TEST_F(FindFastest, HasNothingToOfferWhereNothingFits) {
  const Fastest fastest = find(10 * kMiB);
  EXPECT_FALSE(fastest.best.plan.fits);
  EXPECT_TRUE(fastest.others.empty());
}

}  // namespace
}  // namespace plimsoll::plan
