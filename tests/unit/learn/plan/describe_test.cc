#include "plan/describe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "made_up_store.h"

namespace plimsoll::plan {
namespace {

void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "nothing says: " << part << "\n" << text;
  }
}

TEST(DescribePlan, NamesEveryPartThePeakTheMinimumAndTheTime) {
  Question question = made_up_question({});
  question.window = 1;
  expect_says(describe(plan_within(question, kGiB)),
              {"adjacency   resident ", "features    resident ", "batches     ", " in flight × ",
               "windows     none", "model       ", "runtime     ", "headroom", "   fits\n",
               "minimum     ", "epoch       about ", "rows and "});
  question.window = 8;
  expect_says(describe(plan_within(question, 2 * kGiB)),
              {"windows     8 batches, rows of ", " an epoch", " from disk in ", " requests"});
  expect_says(describe(plan_within(question, 64 * kGiB)),
              {"resident 100 % of the files, 100 % of visits", "reads nothing from disk"});
  expect_says(describe(plan_within(question, kMiB)), {"does not fit", "minimum     "});
  expect_says(describe(plan_within(made_up_question({.model = recipe::ModelKind::mlp}), kGiB)),
              {"mlp ignores the edges"});
}

// Both sums are written out: a peak below the minimum is no riddle then.
TEST(DescribePlan, AddsUpToTheLimitAndToTheMinimum) {
  const Question question = made_up_question({});
  const uint64_t minimum = minimum_bytes(question);
  const uint64_t kept_free = headroom_bytes(minimum);
  const Plan plan = plan_within(question, minimum);
  EXPECT_LE(plan.peak_bytes, minimum - kept_free);
  expect_says(describe(plan),
              {fmt::format("minimum     {} + {} headroom = {}, the least limit",
                           format_bytes(minimum - kept_free), format_bytes(kept_free),
                           format_bytes_up(minimum)),
               fmt::format("peak        {} + {} unused = the limit, {}   fits",
                           format_bytes(plan.peak_bytes), format_bytes(minimum - plan.peak_bytes),
                           format_bytes(minimum))});
}

TEST(DescribePlan, SaysThatTheMachineWasBusyWhenItWasMeasured) {
  Question question = made_up_question({});
  EXPECT_EQ(describe(plan_within(question, kGiB)).find("busy"), std::string::npos);
  question.machine.other_load = 10'000;
  expect_says(describe(plan_within(question, kGiB)),
              {"measured on a busy machine (others used 10000.0 cores)"});
  EXPECT_EQ(to_json(plan_within(question, kGiB))["measured_beside_cores"], 10'000);
}

TEST(DescribePlan, SaysThatTheTimeIsUnknown) {
  Question question = made_up_question({});
  question.machine = {};
  expect_says(describe(plan_within(question, kGiB)), {"epoch       time unknown"});
}

TEST(DescribeShortage, SaysTheLimitAndWhatIsNeeded) {
  const Question question = made_up_question({});
  expect_says(describe_shortage(plan_within(question, 100 * kMiB), question),
              {"the limit is 100.0 MiB", "at least", "220.0 MiB of runtime", "1,024 seeds"});
}

TEST(DescribeTable, HasALineForEachCombination) {
  const Question question = made_up_question({});
  const auto row = [&](std::vector<uint32_t> fanout, uint64_t limit_bytes) {
    recipe::Recipe recipe;
    recipe.fanout = std::move(fanout);
    return PlanRow{.recipe = recipe, .plan = plan_within(question, limit_bytes)};
  };
  const std::string text = describe_table(
      {row({15, 10}, kGiB), row({15, 10}, kMiB), row({recipe::kAllNeighbors, 5, 5}, 64 * kGiB)});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  expect_says(text, {"memory", "fan-out", "15,10", "all,5,5", "yes", "no ", "100 %"});
}

TEST(PlanJson, HasTheFiguresUnderNamesWithUnits) {
  const Question question = made_up_question({});
  const Plan plan = plan_within(question, kGiB);
  const auto json = to_json(plan);
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["peak_bytes"], plan.peak_bytes);
  EXPECT_EQ(json["minimum_bytes"], plan.minimum_bytes);
  EXPECT_EQ(json["parts_bytes"].size(), plan.parts.size());
  EXPECT_EQ(json["lines_bytes"]["features"], plan.arrangement.lines.features_bytes);
  EXPECT_EQ(json["epoch_seconds"], plan.seconds_an_epoch);
  EXPECT_GT(json["rows_read"], 0);
  Question unknown = question;
  unknown.machine = {};
  EXPECT_TRUE(to_json(plan_within(unknown, kGiB))["epoch_seconds"].is_null());
}

TEST(PlanJson, SaysWhatEachPlanWasAskedFor) {
  PlanRow row{.recipe = {}, .plan = plan_within(made_up_question({}), kGiB)};
  row.recipe.fanout = {5, 5};
  const auto plans = to_json(std::vector{row, row})["plans"];
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[1]["fanout"], recipe::to_json(row.recipe.fanout));
  EXPECT_EQ(plans[1]["batch_size"], row.recipe.batch_size);
  EXPECT_EQ(plans[1]["peak_bytes"], row.plan.peak_bytes);
}

}  // namespace
}  // namespace plimsoll::plan
