// With too little memory for all that could be under way, a pipeline gives the same batches later,
// or in parts, or says that it cannot; it never waits for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "batch/pipeline.h"
#include "lined_data.h"
#include "memory/page_counter.h"
#include "small_batch.h"
#include "small_pipeline.h"
#include "temp_folder.h"

namespace plimsoll::batch {
namespace {

using std::chrono::milliseconds;

const std::vector<uint32_t> kFanout = {5, 3};
constexpr uint64_t kBatch = 40;
constexpr WindowOptions kNoWindows = {};
constexpr WindowOptions kInWindows = {.batches = 4, .bytes = kMiB};
// With little room of its own, so that batches need most of the memory.
constexpr io::ReadOptions kLittleReading = {
    .method = io::ReadMethod::threads, .depth = 2, .room_bytes = 16 * kKiB};

class PipelineInShortage : public testing::Test {
 protected:
  PipelineInShortage() {
    for (uint32_t node = 1; node < 2000; node += 5) {
      train_.push_back(node);
      labels_.push_back(static_cast<int32_t>(node % 10));
    }
    const kernel::Rows rows = data_.rows();
    write_file(folder_ / "rows", std::string_view(reinterpret_cast<const char*>(rows.data),
                                                  rows.count * rows.row_bytes));
    on_disk_.emplace(feature::RowSource::File{.path = folder_ / "rows",
                                              .shape = rows,
                                              .areas = 4,
                                              .area_bytes = 40 * kKiB,
                                              .windows = kWindows,
                                              .window_bytes = kInWindows.bytes},
                     data_.ledger);
  }
  // With windows, all rows are on disk.
  std::unique_ptr<Pipeline> make(const Assembly& assembly, PipelineOptions options) {
    options.fanout = kFanout;
    options.assembly = assembly;
    const feature::RowSource& rows = options.window.batches > 1 ? *on_disk_ : data_.source();
    return std::make_unique<Pipeline>(data_.topology, rows, options, data_.ledger);
  }
  Pass pass() const {
    return {.seeds = Seeds::shuffled(train_, 3),
            .labels = labels_,
            .batch_size = kBatch,
            .key = 9,
            .gradients = true};
  }
  std::vector<BatchCopy> expected(const Assembly& assembly) {
    const auto pipeline = make(assembly, {});
    pipeline->start(pass());
    return drain(*pipeline);
  }
  // So that this much is left.
  memory::Lease leave(uint64_t bytes) {
    return data_.ledger.lease("others", data_.ledger.available_bytes() - bytes);
  }
  uint64_t used_for(std::string_view tag) const {
    for (const auto& usage : data_.ledger.usage()) {
      if (usage.tag == tag) return usage.bytes;
    }
    return 0;
  }
  // Whether the batch comes out whole with nothing else in memory and this much left.
  bool fits(const Assembly& assembly, const WindowOptions& window, uint64_t index,
            uint64_t left_bytes) {
    const auto pipeline = make(assembly, {.slots = 1, .window = window, .reading = kLittleReading});
    pipeline->release();
    const memory::Lease others = leave(left_bytes);
    Pass from_here = pass();
    from_here.first_batch = index;
    pipeline->start(from_here);
    try {
      const Batch* batch = in_time([&] { return pipeline->take(); });
      const bool whole = batch->seeds == batch->whole;
      pipeline->give_back(batch);
      return whole;
    } catch (const Error&) {
      return false;
    }
  }
  // With how much left each of them does.
  uint64_t need_of_one(const Assembly& assembly, const WindowOptions& window = kNoWindows) {
    uint64_t enough = window.batches > 1 ? 160 * kKiB : 16 * kKiB;
    for (uint64_t index = 0; index < train_.size() / kBatch; ++index) {
      while (!fits(assembly, window, index, enough)) enough += 16 * kKiB;
    }
    return enough;
  }

  // Parts must follow each other, and be what a sampler makes of their seeds with the batch's
  // draws.
  void expect_tiles(const std::vector<BatchCopy>& parts, const Assembly& assembly) {
    const Pass whole = pass();
    uint64_t index = 0;
    uint64_t before = 0;
    for (const BatchCopy& part : parts) {
      ASSERT_EQ(part.index, index);
      ASSERT_EQ(part.before, before);
      ASSERT_EQ(part.first_seed, index * kBatch + before);
      ASSERT_EQ(part.whole, std::min(kBatch, train_.size() - index * kBatch));
      ASSERT_GT(part.seeds, 0U);
      std::vector<uint32_t> seeds(part.seeds);
      std::vector<int32_t> labels(part.seeds);
      for (uint32_t i = 0; i < part.seeds; ++i) {
        const uint64_t place = whole.seeds.place(part.first_seed + i);
        seeds[i] = train_[place];
        labels[i] = labels_[place];
      }
      MadeBatch made(same_data_, kFanout, assembly, seeds, RandomStream(whole.key, index).at(0));
      Batch same = made.batch();
      same.index = part.index;
      same.first_seed = part.first_seed;
      same.before = part.before;
      same.whole = part.whole;
      same.labels = labels;
      ASSERT_TRUE(BatchCopy(same) == part) << "batch " << index << " from " << before;
      before += part.seeds;
      if (before < part.whole) continue;
      ASSERT_EQ(before, part.whole);
      before = 0;
      ++index;
    }
    EXPECT_EQ(index, whole.seeds.batches(kBatch));
    EXPECT_EQ(before, 0U);
  }

  SmallData data_{sample::random_lists(2000, 20, 5), 64};
  SmallData same_data_{data_.lists, 64};  // with a ledger of its own
  TempFolder folder_;
  std::optional<feature::RowSource> on_disk_;
  std::vector<uint32_t> train_;
  std::vector<int32_t> labels_;
};

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
