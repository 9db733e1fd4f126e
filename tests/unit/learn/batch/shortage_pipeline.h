// Pipelines with too little memory for all that could be under way: the data, passes in memory or
// in windows, and how much a batch needs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "batch/pipeline.h"
#include "lined_data.h"
#include "small_batch.h"
#include "small_pipeline.h"
#include "temp_folder.h"

namespace plimsoll::batch {

inline const std::vector<uint32_t> kFanout = {5, 3};
inline constexpr uint64_t kBatch = 40;
inline constexpr WindowOptions kNoWindows = {};
inline constexpr WindowOptions kInWindows = {.batches = 4, .bytes = kMiB};
// With little room of its own, so that batches need most of the memory.
inline constexpr io::ReadOptions kLittleReading = {
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

}  // namespace plimsoll::batch
