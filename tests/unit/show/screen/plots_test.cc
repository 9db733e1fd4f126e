#include <gtest/gtest.h>

#include "screen/screen.h"

namespace plimsoll::screen {
namespace {

TEST(Plots, AStoreHasItsDegreesAndItsHotness) {
  graph::StoreSummary summary;
  summary.degrees.by_power_of_two = {3, 10, 0, 5};
  summary.hotness = {{.rows_per_mille = 100, .rows = 2, .visits_share = 0.6},
                     {.rows_per_mille = 1000, .rows = 18, .visits_share = 1}};
  const auto charts = store_charts(summary);
  ASSERT_EQ(charts.size(), 2U);
  EXPECT_EQ(charts[0].curves[0].points.size(), 2U);  // neither degree 0 nor an empty range
  EXPECT_EQ(charts[1].curves[0].points.back().y, 1);
}

TEST(Plots, AStoreWithoutEdgesHasNoFigures) { EXPECT_TRUE(store_charts({}).empty()); }

TEST(Plots, EpochsOfPlansThatFitAreACurveForEachFanout) {
  std::vector<plan::PlanRow> rows;
  for (const uint64_t limit : {400, 100, 200}) {
    plan::PlanRow row;
    row.recipe.fanout = {15, 10};
    row.plan.fits = limit > 100;
    row.plan.limit_bytes = limit;
    row.plan.seconds_an_epoch = 1000.0 / static_cast<double>(limit);
    rows.push_back(row);
    row.recipe.fanout = {5, 5};
    row.plan.fits = true;
    rows.push_back(row);
  }
  const auto charts = epoch_times(rows);
  ASSERT_EQ(charts.size(), 1U);
  ASSERT_EQ(charts[0].curves.size(), 2U);
  EXPECT_EQ(charts[0].curves[0].points.size(), 2U);
  EXPECT_EQ(charts[0].curves[1].points.front().x, 100);
}

TEST(Plots, PlansOfAMachineThatWasNotMeasuredHaveNoFigure) {
  plan::PlanRow row;
  row.plan.fits = true;
  EXPECT_TRUE(epoch_times({row}).empty());
}

TEST(Plots, ThePartsOfAPlanStandBesideItsPeakAndLimit) {
  plan::Plan plan;
  plan.parts = {{.name = "features", .bytes = 5, .note = ""}};
  plan.peak_bytes = 5;
  plan.limit_bytes = 9;
  const plot::BarChart chart = memory_parts(plan);
  ASSERT_EQ(chart.bars.size(), 3U);
  EXPECT_EQ(chart.bars[2].values[0], 9.0);
}

}  // namespace
}  // namespace plimsoll::screen
