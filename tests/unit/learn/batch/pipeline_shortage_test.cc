// With too little memory for all that could be under way, a pipeline gives the same batches later,
// or in parts, or says that it cannot; it never waits for ever.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "shortage_pipeline.h"

namespace plimsoll::batch {
namespace {

TEST_F(PipelineInShortage, ComesOutInPartsWhereABatchDoesNotFit) {
  for (const Assembly& assembly : {kGcn, kGcnSampled, kSage, kGat}) {
    const size_t batches = expected(assembly).size();
    const uint64_t too_little = need_of_one(assembly) / 3;
    for (const WindowOptions& window : {kNoWindows, kInWindows}) {
      const uint64_t need = need_of_one(assembly, window);
      for (const unsigned workers : {1U, 3U}) {
        const auto pipeline = make(assembly, {.workers = workers,
                                              .slots = workers + 1,
                                              .window = window,
                                              .reading = kLittleReading});
        pipeline->release();
        const memory::Lease others = leave(need - too_little);
        pipeline->start(pass());
        const auto parts = in_time([&] { return drain(*pipeline); });
        EXPECT_GT(parts.size(), batches);
        ASSERT_NO_FATAL_FAILURE(expect_tiles(parts, assembly));
        pipeline->release();
      }
    }
  }
}

TEST_F(PipelineInShortage, SaysOfEveryPartWhichItIs) {
  const uint64_t need = need_of_one(kSage);
  const auto pipeline = make(kSage, {});
  pipeline->release();
  const memory::Lease others = leave(need / 2);
  pipeline->start(pass());
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t middle = 0;
  in_time([&] {
    while (const Batch* batch = pipeline->take()) {
      EXPECT_EQ(batch->first_part(), batch->before == 0);
      EXPECT_EQ(batch->last_part(), batch->before + batch->seeds == batch->whole);
      first += batch->first_part() ? 1 : 0;
      last += batch->last_part() ? 1 : 0;
      middle += !batch->first_part() && !batch->last_part() ? 1 : 0;
      pipeline->give_back(batch);
    }
    return 0;
  });
  EXPECT_EQ(first, 10U);
  EXPECT_EQ(last, 10U);
  EXPECT_GT(middle, 0U);
}

// What did not fit once is not tried again in this pass, but is in the next.
TEST_F(PipelineInShortage, KeepsToWhatFitsForTheRestOfThePass) {
  const auto whole = expected(kSage);
  const uint64_t need = need_of_one(kSage);
  const auto pipeline = make(kSage, {});
  pipeline->release();
  {
    const memory::Lease others = leave(need / 2);
    pipeline->start(pass());
    uint64_t most = kBatch;
    for (const BatchCopy& part : in_time([&] { return drain(*pipeline); })) {
      EXPECT_LE(part.seeds, most);
      if (part.before + part.seeds < part.whole) most = part.seeds;
    }
    EXPECT_LE(most, kBatch / 2);
  }
  pipeline->start(pass());
  EXPECT_TRUE(in_time([&] { return drain(*pipeline); }) == whole);
}

// Room for one batch and a half: whatever else is in the way, all come out whole.
TEST_F(PipelineInShortage, ComesOutWholeWhereABatchFitsAlone) {
  for (const Assembly& assembly : {kGcn, kSage}) {
    const auto whole = expected(assembly);
    for (const WindowOptions& window : {kNoWindows, kInWindows}) {
      const uint64_t need = need_of_one(assembly, window);
      for (const unsigned workers : {1U, 4U}) {
        const auto pipeline = make(assembly, {.workers = workers,
                                              .slots = workers + 2,
                                              .window = window,
                                              .reading = kLittleReading});
        pipeline->release();
        const memory::Lease others = leave(need + need / 2);
        for (int round = 0; round < 3; ++round) {
          pipeline->start(pass());
          EXPECT_TRUE(in_time([&] { return drain(*pipeline); }) == whole);
        }
        pipeline->release();
      }
    }
  }
}

// Like a GPU's feeder: it takes ahead, and holds what it has while it waits for more.
TEST_F(PipelineInShortage, EndsOrFailsWithAnyLimit) {
  int ended = 0;
  int failed = 0;
  const auto run = [&](Pipeline& pipeline, size_t held_at_once) {
    std::deque<const Batch*> held;
    std::vector<BatchCopy> batches;
    try {
      while (const Batch* batch = pipeline.take()) {
        batches.emplace_back(*batch);
        held.push_back(batch);
        if (held.size() < held_at_once) continue;
        pipeline.give_back(held.front());
        held.pop_front();
      }
      ++ended;
      expect_tiles(batches, kSage);
    } catch (const Error& error) {
      EXPECT_EQ(name(error.kind()), name(ErrorKind::memory)) << error.what();
      ++failed;
    }
    for (const Batch* batch : held) pipeline.give_back(batch);
    return 0;
  };
  for (const WindowOptions& window : {kNoWindows, kInWindows}) {
    const uint64_t need = need_of_one(kSage, window);
    for (const unsigned workers : {1U, 4U}) {
      for (const size_t held_at_once : {1U, 3U}) {
        const auto pipeline = make(kSage, {.workers = workers,
                                           .slots = workers + 3,
                                           .window = window,
                                           .reading = kLittleReading});
        for (uint64_t left_bytes = 0; left_bytes < 2 * need; left_bytes += need / 10) {
          pipeline->release();
          const memory::Lease others = leave(left_bytes);
          pipeline->start(pass());
          in_time([&] { return run(*pipeline, held_at_once); });
        }
      }
    }
  }
  EXPECT_GT(ended, 20);
  EXPECT_GT(failed, 20);
}

// With rows and lists on disk there are more leases that can be refused.
TEST_F(PipelineInShortage, EndsOrFailsWithAnyLimitBelowTheLines) {
  LinedData data(lists_with_a_hub(3000, 300), 100, true);
  TempFolder folder;
  sample::write_store(folder / "store", {.lists = data.lists});
  const sample::Topology topology =
      sample::load_topology(graph::open(folder / "store"), data.ledger, {0, 0}, 1, [](uint64_t) {});
  const feature::RowSource rows = data.source({.line_bytes = 0,
                                               .area_bytes = 40 * kKiB,
                                               .areas = 3,
                                               .windows = kWindows,
                                               .window_bytes = kInWindows.bytes});
  const feature::RowSource resident(data.rows());
  const auto options = [&](unsigned workers, const WindowOptions& window) {
    return PipelineOptions{.fanout = kFanout,
                           .assembly = kGcn,
                           .workers = workers,
                           .slots = workers + 1,
                           .window = window,
                           .reading = kLittleReading};
  };
  Pipeline reference(data.topology, resident, options(1, kNoWindows), data.ledger);
  reference.start(pass());
  const auto whole = drain(reference);
  int ended = 0;
  int in_parts = 0;
  int failed = 0;
  for (const unsigned workers : {1U, 3U}) {
    for (const WindowOptions& window : {kNoWindows, kInWindows}) {
      Pipeline pipeline(topology, rows, options(workers, window), data.ledger);
      for (uint64_t left_bytes = 0; left_bytes < 3 * kMiB; left_bytes += 250 * kKiB) {
        pipeline.release();
        const memory::Lease others =
            data.ledger.lease("others", data.ledger.available_bytes() - left_bytes);
        pipeline.start(pass());
        try {
          const auto batches = in_time([&] { return drain(pipeline); });
          ++ended;
          if (batches.size() > whole.size()) {
            ++in_parts;
          } else {
            EXPECT_TRUE(batches == whole) << left_bytes;
          }
        } catch (const Error& error) {
          EXPECT_EQ(name(error.kind()), name(ErrorKind::memory)) << error.what();
          ++failed;
        }
      }
    }
  }
  EXPECT_GT(ended, in_parts);
  EXPECT_GT(in_parts, 0);
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace plimsoll::batch
