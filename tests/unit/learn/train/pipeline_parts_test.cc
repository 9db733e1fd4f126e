// A batch that the pipeline gives in parts for want of memory, its own or the trainer's, has the
// gradients of the whole.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "train/inference.h"
#include "train/small_graph.h"
#include "train/small_run.h"

namespace plimsoll::train {
namespace {

class PartsOfThePipeline : public testing::TestWithParam<std::tuple<ModelKind, int>> {
 protected:
  BatchFeed make_own_source() {
    return make_source(graph_, std::get<0>(GetParam()),
                       std::vector<uint32_t>(std::get<1>(GetParam()), 3));
  }
  // The gradients and losses of each batch, and how many parts they came in.
  struct Run {
    std::vector<Step> steps;
    std::vector<int> parts;
  };
  // A trainer that has room for no more than `most_seeds` begins a larger batch again.
  Run run(BatchFeed& source, uint32_t most_seeds = UINT32_MAX) {
    Run run;
    source.feeder.start({.seeds = batch::Seeds::in_order(asked_.nodes),
                         .labels = asked_.labels,
                         .batch_size = 250,
                         .key = 1,
                         .gradients = true});
    for (const FedBatch* fed = &source.feeder.next(); fed->batch != nullptr;
         fed = &source.feeder.next()) {
      if (fed->batch->first_part()) {
        run.steps.emplace_back();
        run.parts.push_back(0);
      }
      if (fed->batch->seeds > most_seeds) {
        EXPECT_TRUE(source.feeder.retry(/*from_its_start=*/true));
        run.steps.pop_back();
        run.parts.pop_back();
        continue;
      }
      add_step(model_, *fed->batch, fed->batch->whole, run.steps.back());
      ++run.parts.back();
      source.feeder.done();
    }
    return run;
  }

  SmallGraph graph_{4000};
  const Asked asked_{4000};
  nn::Model model_{shape_of(std::get<0>(GetParam()), std::get<1>(GetParam())), 1, kCpu};
};

INSTANTIATE_TEST_SUITE_P(
    Models, PartsOfThePipeline,
    testing::Values(std::tuple(ModelKind::gcn, 2), std::tuple(ModelKind::gcn, 3),
                    std::tuple(ModelKind::sage, 2), std::tuple(ModelKind::sage, 3),
                    std::tuple(ModelKind::gat, 2), std::tuple(ModelKind::gat, 3)),
    [](const auto& test) {
      return std::string(recipe::name(std::get<0>(test.param))) +
             std::to_string(std::get<1>(test.param));
    });

TEST_P(PartsOfThePipeline, HaveGradientsThatAddUpToTheWhole) {
  nn::shake(model_);
  BatchFeed source = make_own_source();
  const Run expected = run(source);
  ASSERT_EQ(expected.steps.size(), 3U);
  EXPECT_EQ(expected.parts, (std::vector<int>{1, 1, 1}));
  std::set<int> seen;
  for (uint64_t left_bytes = 100 * kKiB; seen.size() < 4; left_bytes += 20 * kKiB) {
    source.feeder.drop();
    source.pipeline.release();
    const memory::Lease others =
        graph_.ledger().lease("others", graph_.ledger().available_bytes() - left_bytes);
    std::optional<Run> parts;
    try {
      parts = run(source);
    } catch (const Error& error) {
      ASSERT_EQ(name(error.kind()), name(ErrorKind::memory)) << error.what();
      continue;
    }
    ASSERT_EQ(parts->steps.size(), expected.steps.size());
    for (size_t i = 0; i < parts->steps.size(); ++i) {
      const Step& whole = expected.steps[i];
      ASSERT_GT(nn::scale_of(whole.gradients), 1e-3);
      EXPECT_LE(nn::distance(parts->steps[i].gradients, whole.gradients),
                1e-6 * nn::scale_of(whole.gradients))
          << parts->parts[i] << " parts";
      EXPECT_NEAR(parts->steps[i].loss, whole.loss, 1e-6 * whole.loss) << parts->parts[i];
    }
    seen.insert(parts->parts.front());
    if (parts->parts == expected.parts) break;
  }
  EXPECT_GE(seen.size(), 3U) << "parts were of too few kinds";
  EXPECT_GT(*seen.rbegin(), 3);
}

TEST_P(PartsOfThePipeline, HaveThoseOfTheWholeWhereTheTrainerHadNoRoom) {
  nn::shake(model_);
  BatchFeed source = make_own_source();
  const Run expected = run(source);
  for (const uint32_t most_seeds : {200U, 63U, 1U}) {
    const Run parts = run(source, most_seeds);
    ASSERT_EQ(parts.steps.size(), expected.steps.size());
    EXPECT_GE(parts.parts.front(), 250 / static_cast<int>(most_seeds));
    for (size_t i = 0; i < parts.steps.size(); ++i) {
      EXPECT_LE(nn::distance(parts.steps[i].gradients, expected.steps[i].gradients),
                1e-6 * nn::scale_of(expected.steps[i].gradients));
      EXPECT_NEAR(parts.steps[i].loss, expected.steps[i].loss, 1e-6 * expected.steps[i].loss);
    }
  }
}

}  // namespace
}  // namespace plimsoll::train
