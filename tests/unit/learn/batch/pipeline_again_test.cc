// A consumer that has too little memory for a batch has it made again, whole or in smaller parts. A
// pipeline gives back all of its memory when asked to, and says what it waits for.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "memory/page_counter.h"
#include "shortage_pipeline.h"

namespace plimsoll::batch {
namespace {

using std::chrono::milliseconds;

TEST_F(PipelineInShortage, MakesBatchesAgainAsTheyWere) {
  for (const Assembly& assembly : {kGcn, kSage}) {
    const auto whole = expected(assembly);
    for (const unsigned workers : {1U, 4U}) {
      for (const WindowOptions& window : {kNoWindows, kInWindows}) {
        const auto pipeline =
            make(assembly, {.workers = workers, .slots = workers + 2, .window = window});
        for (uint64_t round = 0; round < 10; ++round) {
          const RandomStream random(round, workers);
          pipeline->start(pass());
          std::vector<BatchCopy> batches;
          std::set<uint64_t> refused;
          in_time([&] {
            while (const Batch* batch = pipeline->take()) {
              const uint64_t draw = random.at(batch->index);
              if (draw % 4 == 0) std::this_thread::sleep_for(milliseconds(1));
              const bool last = batch->index + 1 == whole.size();
              if ((draw % 3 == 0 || last) && refused.insert(batch->index).second) {
                EXPECT_TRUE(pipeline->make_again(batch, draw % 2 == 0));
                EXPECT_TRUE(pipeline->one_at_a_time());
                continue;
              }
              batches.emplace_back(*batch);
              pipeline->give_back(batch);
              EXPECT_FALSE(pipeline->one_at_a_time());
            }
            return 0;
          });
          EXPECT_TRUE(batches == whole);
          EXPECT_FALSE(refused.empty());
        }
      }
    }
  }
}

// The seeds of all parts, in order, of a consumer that refuses more than `most` seeds at once.
std::vector<uint32_t> seeds_taken(Pipeline& pipeline, uint32_t most, bool from_its_start) {
  std::vector<uint32_t> seeds;
  uint64_t batch_begin = 0;
  while (const Batch* batch = pipeline.take()) {
    if (batch->first_part()) batch_begin = from_its_start ? seeds.size() : batch_begin;
    if (batch->seeds > most) {
      EXPECT_TRUE(pipeline.make_again(batch, from_its_start));
      if (from_its_start) seeds.resize(batch_begin);
      continue;
    }
    seeds.insert(seeds.end(), batch->nodes.begin(), batch->nodes.begin() + batch->seeds);
    pipeline.give_back(batch);
  }
  return seeds;
}

TEST_F(PipelineInShortage, MakesSmallerPartsUntilTheConsumerHasRoom) {
  for (const WindowOptions& window : {kNoWindows, kInWindows}) {
    for (const bool from_its_start : {false, true}) {
      const auto pipeline = make(kSage, {.workers = 3, .slots = 6, .window = window});
      pipeline->start(pass());
      const auto wanted = in_time([&] { return seeds_taken(*pipeline, UINT32_MAX, false); });
      for (const uint32_t most : {1U, 3U, 10U}) {
        pipeline->start(pass());
        EXPECT_EQ(in_time([&] { return seeds_taken(*pipeline, most, from_its_start); }), wanted);
      }
    }
  }
}

TEST_F(PipelineInShortage, TriesASingleSeedAloneOnceMore) {
  const auto pipeline = make(kSage, {.workers = 2, .slots = 6});
  Pass single = pass();
  single.batch_size = 1;
  pipeline->start(single);
  const Batch* batch = pipeline->take();
  EXPECT_TRUE(pipeline->make_again(batch, true)) << "others were in memory";
  batch = pipeline->take();
  EXPECT_EQ(batch->index, 0U);
  EXPECT_FALSE(pipeline->make_again(batch, true)) << "it was alone";
}

TEST_F(PipelineInShortage, HoldsNothingElseWhileABatchIsComputedAlone) {
  for (const WindowOptions& window : {kNoWindows, kInWindows}) {
    const uint64_t before = data_.ledger.used_bytes();
    const auto pipeline = make(kSage, {.workers = 2, .slots = 6, .window = window});
    pipeline->start(pass());
    const Batch* batch = pipeline->take();
    EXPECT_TRUE(pipeline->make_again(batch, false));
    EXPECT_EQ(data_.ledger.used_bytes(), before);
    batch = in_time([&] { return pipeline->take(); });
    const uint64_t with_one = data_.ledger.used_bytes();
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_EQ(data_.ledger.used_bytes(), with_one) << "nothing is made beside it";
    pipeline->give_back(batch);
    EXPECT_EQ(in_time([&] { return drain(*pipeline).size(); }), 9U);
  }
}

// A trainer that holds a lone batch and asks for the next one does not wait for itself.
TEST_F(PipelineInShortage, GivesTheNextBatchBesideOneThatWasMadeAgain) {
  const auto whole = expected(kSage);
  for (const WindowOptions& window : {kNoWindows, kInWindows}) {
    for (const unsigned workers : {1U, 3U}) {
      const auto pipeline = make(kSage, {.workers = workers, .slots = 5, .window = window});
      pipeline->start(pass());
      EXPECT_TRUE(pipeline->make_again(pipeline->take(), true));
      std::vector<BatchCopy> batches;
      in_time([&] {
        std::deque<const Batch*> held;
        while (const Batch* batch = pipeline->take()) {
          batches.emplace_back(*batch);
          held.push_back(batch);
          if (held.size() < 3) continue;
          pipeline->give_back(held.front());
          held.pop_front();
        }
        for (const Batch* batch : held) pipeline->give_back(batch);
        return 0;
      });
      EXPECT_TRUE(batches == whole);
    }
  }
}

TEST_F(PipelineInShortage, GivesEverythingBackWhenReleased) {
  const auto whole = expected(kGcn);
  for (const WindowOptions& window : {kNoWindows, kInWindows}) {
    const uint64_t before = data_.ledger.used_bytes();
    const auto pipeline = make(kGcn, {.workers = 2, .slots = 5, .window = window});
    for (int round = 0; round < 3; ++round) {
      pipeline->start(pass());
      if (round == 1) {
        const Batch* batch = pipeline->take();
        expect_error(ErrorKind::internal, {"1 batches not given back"},
                     [&] { pipeline->release(); });
        pipeline->give_back(batch);
      } else {
        EXPECT_TRUE(in_time([&] { return drain(*pipeline); }) == whole);
      }
      EXPECT_GT(data_.ledger.used_bytes(), before);
      pipeline->release();
      EXPECT_EQ(data_.ledger.used_bytes(), before);
    }
  }
}

// Memory that takes its time.
class SlowPages final : public memory::PageSource {
 public:
  void* allocate(uint64_t bytes) override {
    std::this_thread::sleep_for(milliseconds(30));
    return pages_.allocate(bytes);
  }
  void release(void* data, uint64_t bytes) noexcept override { pages_.release(data, bytes); }

 private:
  memory::PageCounter pages_;
};

TEST_F(PipelineInShortage, SaysWhatItWaitsForWhenItTakesLong) {
  const auto whole = expected(kSage);
  SlowPages pages;
  std::vector<std::string> said;
  std::unique_ptr<Pipeline> pipeline;
  pipeline = make(kSage, {.workers = 1,
                          .slots = 2,
                          .pages = &pages,
                          .on_stall =
                              [&](const std::string& what) {
                                said.push_back(what);
                                EXPECT_EQ(pipeline->reads().reads, 0U) << "who is told may ask";
                              },
                          .patience = milliseconds(10)});
  pipeline->start(pass());
  EXPECT_TRUE(in_time([&] { return drain(*pipeline); }) == whole);
  ASSERT_GE(said.size(), 2U);
  EXPECT_EQ(said.front().find("batch 1 is not ready"), 0U) << said.front();
  EXPECT_NE(said.front().find("worker 1 samples neighbours"), std::string::npos) << said.front();
}

TEST_F(PipelineInShortage, SaysNothingWhenAllIsWell) {
  std::atomic<int> said = 0;
  const auto pipeline =
      make(kSage, {.workers = 2, .on_stall = [&](const std::string&) { ++said; }});
  pipeline->start(pass());
  drain(*pipeline);
  EXPECT_EQ(said, 0);
}

}  // namespace
}  // namespace plimsoll::batch
