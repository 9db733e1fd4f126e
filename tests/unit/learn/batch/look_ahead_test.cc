// The first window of an expected pass is read before the pass begins. This changes when it is
// read, never what the pass gives.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "batch/pipeline.h"
#include "graph/store.h"
#include "lined_data.h"
#include "small_batch.h"
#include "small_pipeline.h"

namespace plimsoll::batch {
namespace {

constexpr uint32_t kExpectedNodes = 20'000;
constexpr unsigned kWholePass = 1000;
constexpr uint64_t kExpectedRoom = 8 * kMiB;

class LookAhead : public testing::Test {
 protected:
  feature::RowSource rows(memory::Ledger& ledger) const {
    return data_.source({.line_bytes = io::kLineStepBytes,
                         .area_bytes = 200 * kKiB,
                         .areas = 2,
                         .windows = kWindows,
                         .window_bytes = kExpectedRoom},
                        ledger);
  }
  static PipelineOptions options(unsigned window) {
    return {.fanout = {5, 3},
            .assembly = kGcn,
            .workers = 2,
            .slots = 4,
            .window = {.batches = window, .first_batches = window, .bytes = kExpectedRoom}};
  }
  // An epoch, or the evaluation after it.
  Pass pass(uint64_t epoch, bool evaluation = false) const {
    return {.seeds = evaluation ? Seeds::in_order(std::span(store_.seeds).first(100))
                                : Seeds::shuffled(store_.seeds, epoch),
            .labels = store_.labels,
            .batch_size = 30,
            .key = evaluation ? 0 : epoch,
            .gradients = !evaluation};
  }
  std::vector<Pass> passes() const { return {pass(1), pass(2), pass(2, true), pass(3)}; }
  static std::vector<BatchCopy> run(Pipeline& pipeline, const Pass& pass) {
    return in_time([&] {
      pipeline.start(pass);
      return drain(pipeline);
    });
  }
  // What the passes give if nothing is expected.
  std::vector<std::vector<BatchCopy>> one_by_one(const std::vector<Pass>& passes) {
    std::vector<std::vector<BatchCopy>> all;
    const feature::RowSource source = rows(data_.ledger);
    Pipeline pipeline(topology_, source, options(1), data_.ledger);
    for (const Pass& one : passes) all.push_back(run(pipeline, one));
    return all;
  }
  static void until_windows(const Pipeline& pipeline, uint64_t count) {
    in_time([&] {
      while (pipeline.reads().windows < count) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return 0;
    });
  }

  LinedData data_{lists_with_a_hub(kExpectedNodes, 700, 48), 128, true};
  LinedStore store_{data_, 61};
  const sample::Topology topology_ = store_.lists_with({0, 0});
};

TEST_F(LookAhead, GivesTheSameBatchesWhateverIsExpected) {
  const auto expected = one_by_one(passes());
  const std::vector<std::vector<Pass>> forecasts = {
      {pass(2), pass(2, true), pass(3)}, {pass(3)}, {pass(2), pass(3)}, {pass(2, true)}, {}};
  for (const unsigned window : {2U, 5U, 7U, kWholePass}) {
    for (const auto& forecast : forecasts) {
      SCOPED_TRACE(std::to_string(window) + " batches, " + std::to_string(forecast.size()));
      const feature::RowSource source = rows(data_.ledger);
      Pipeline pipeline(topology_, source, options(window), data_.ledger);
      const auto all = passes();
      for (size_t i = 0; i < all.size(); ++i) {
        in_time([&] {
          pipeline.start(all[i]);
          if (i == 0) pipeline.expect(forecast);
          EXPECT_TRUE(drain(pipeline) == expected[i]) << i;
          return 0;
        });
      }
    }
  }
}

TEST_F(LookAhead, ReadsTheFirstWindowOfTheNextPass) {
  const auto expected = one_by_one(passes());
  const feature::RowSource source = rows(data_.ledger);
  Pipeline pipeline(topology_, source, options(kWholePass), data_.ledger);
  const auto all = passes();
  pipeline.start(all[0]);
  pipeline.expect({all.begin() + 1, all.end()});
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) pipeline.start(all[i]);
    EXPECT_TRUE(in_time([&] { return drain(pipeline); }) == expected[i]) << i;
    // All of the pass is read, and the next one.
    until_windows(pipeline, std::min(i + 2, all.size()));
  }
  EXPECT_EQ(pipeline.reads().windows, all.size());
}

TEST_F(LookAhead, IsDroppedWithTheMemoryOfThePipeline) {
  const feature::RowSource source = rows(data_.ledger);
  Pipeline pipeline(topology_, source, options(kWholePass), data_.ledger);
  const uint64_t before = data_.ledger.used_bytes();
  pipeline.start(pass(1));
  pipeline.expect({pass(2)});
  in_time([&] { return drain(pipeline); });
  until_windows(pipeline, 2);
  pipeline.release();
  EXPECT_LE(data_.ledger.used_bytes(), before);
  EXPECT_TRUE(run(pipeline, pass(2)) == one_by_one({pass(2)}).front());
}

// A batch that is made again drops all windows, also the one of the next pass.
TEST_F(LookAhead, GivesTheSameWhenABatchIsMadeAgain) {
  const auto expected = one_by_one({pass(1), pass(2)});
  const feature::RowSource source = rows(data_.ledger);
  for (const uint64_t again : {0U, 5U}) {
    Pipeline pipeline(topology_, source, options(kWholePass), data_.ledger);
    pipeline.start(pass(1));
    pipeline.expect({pass(2)});
    std::vector<BatchCopy> batches;
    bool made_again = false;
    in_time([&] {
      while (const Batch* batch = pipeline.take()) {
        if (batch->index == again && !made_again) {
          made_again = true;
          EXPECT_TRUE(pipeline.make_again(batch, true));
          continue;
        }
        batches.emplace_back(*batch);
        pipeline.give_back(batch);
      }
      return 0;
    });
    EXPECT_TRUE(batches == expected[0]) << again;
    EXPECT_TRUE(run(pipeline, pass(2)) == expected[1]) << again;
  }
}

TEST_F(LookAhead, GivesTheSameBatchesOrFailsWithAnyLimit) {
  const auto expected = one_by_one({pass(1), pass(2)});
  int succeeded = 0;
  for (uint64_t limit = kMiB; limit < 64 * kMiB; limit += limit / 3) {
    SCOPED_TRACE(std::to_string(limit) + " bytes");
    memory::Ledger ledger(limit);
    const feature::RowSource source = rows(ledger);
    Pipeline pipeline(topology_, source, options(kWholePass), ledger);
    try {
      in_time([&] {
        pipeline.start(pass(1));
        pipeline.expect({pass(2)});
        const auto first = drain(pipeline);
        EXPECT_TRUE(first == expected[0] || first.size() > expected[0].size());
        pipeline.start(pass(2));
        const auto second = drain(pipeline);
        EXPECT_TRUE(second == expected[1] || second.size() > expected[1].size());
        return 0;
      });
      ++succeeded;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::memory) << error.what();
    }
    EXPECT_LE(ledger.peak_bytes(), limit);
  }
  EXPECT_GT(succeeded, 0);
}

}  // namespace
}  // namespace plimsoll::batch
