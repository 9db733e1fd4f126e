// Lines and windows change what a pipeline reads, never what it gives.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
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

constexpr uint64_t kStep = io::kLineStepBytes;
constexpr uint32_t kNodes = 20'000;
constexpr unsigned kMostWorkers = 3;
constexpr uint64_t kWindowBytes = 4 * kMiB;

struct Style {
  const char* name;
  Assembly assembly;
};
const std::vector<Style> kStyles = {
    {"gcn", kGcn}, {"gcn by the sample", kGcnSampled}, {"sage", kSage}, {"gat", kGat}};

// The rows have 256 bytes: a line may cut them. The lists are either resident or not.
class PipelineWithLines : public testing::Test {
 protected:
  feature::RowSource rows_with(uint64_t line_bytes, uint64_t area_bytes = 300 * kKiB) {
    return data_.source({.line_bytes = line_bytes,
                         .area_bytes = area_bytes,
                         .areas = kMostWorkers,
                         .windows = kWindows,
                         .window_bytes = kWindowBytes});
  }
  PipelineOptions options(const Assembly& assembly, unsigned workers, unsigned window) const {
    return {.fanout = {5, 3},
            .assembly = assembly,
            .workers = workers,
            .slots = workers + 2,
            .window = {.batches = window, .bytes = kWindowBytes}};
  }
  Pass pass(uint64_t key = 1) const {
    return {.seeds = Seeds::shuffled(store_.seeds, key),
            .labels = store_.labels,
            .batch_size = 30,
            .key = key,
            .gradients = true};
  }
  // All that a pass gives without lines.
  std::vector<BatchCopy> resident(const Assembly& assembly) {
    const feature::RowSource rows(data_.rows());
    Pipeline pipeline(data_.topology, rows, options(assembly, 1, 1), data_.ledger);
    pipeline.start(pass());
    return drain(pipeline);
  }

  LinedData data_{lists_with_a_hub(kNodes, 700), 128, true};
  LinedStore store_{data_, 41};
};

TEST_F(PipelineWithLines, GivesTheBatchesOfResidentData) {
  ASSERT_GT(data_.file_bytes(), 2 * kStep);
  const std::vector<sample::TopologyLines> list_lines = {{0, 0}, {UINT64_MAX, 0}, {}};
  for (const auto& [style, assembly] : kStyles) {
    const auto expected = resident(assembly);
    for (const auto& lines : list_lines) {
      const sample::Topology topology = store_.lists_with(lines);
      for (const uint64_t line_bytes : {uint64_t{0}, kStep, UINT64_MAX}) {
        const feature::RowSource rows = rows_with(line_bytes);
        for (const unsigned window : {1U, 5U}) {
          const unsigned workers = window == 1 ? kMostWorkers : 2;
          SCOPED_TRACE(std::string(style) + ", line " + std::to_string(line_bytes) + ", window " +
                       std::to_string(window));
          Pipeline pipeline(topology, rows, options(assembly, workers, window), data_.ledger);
          for (int round = 0; round < 2; ++round) {
            pipeline.start(pass());
            EXPECT_TRUE(in_time([&] { return drain(pipeline); }) == expected);
          }
        }
      }
    }
  }
}

TEST_F(PipelineWithLines, GivesTheSameWhateverTheRoomForRows) {
  const auto expected = resident(kGcn);
  const sample::Topology topology = store_.lists_with({});
  for (const uint64_t area_bytes : {uint64_t{0}, 20 * kKiB, 16 * kMiB}) {
    const feature::RowSource rows = rows_with(kStep, area_bytes);
    Pipeline pipeline(topology, rows, options(kGcn, 2, 3), data_.ledger);
    pipeline.start(pass());
    EXPECT_TRUE(in_time([&] { return drain(pipeline); }) == expected) << area_bytes;
  }
}

// Windows are used if something is on disk when the pass begins.
TEST_F(PipelineWithLines, GivesTheSameWhileLinesGoDown) {
  const auto expected = resident(kGcn);
  for (const uint64_t line_bytes : {UINT64_MAX, data_.file_bytes() - 1}) {
    for (const unsigned window : {1U, 4U}) {
      const sample::Topology topology = store_.lists_with({});
      const feature::RowSource rows = rows_with(line_bytes);
      Pipeline pipeline(topology, rows, options(kGcn, 2, window), data_.ledger);
      pipeline.start(pass());
      std::vector<BatchCopy> batches;
      in_time([&] {
        while (const Batch* batch = pipeline.take()) {
          batches.emplace_back(*batch);
          pipeline.give_back(batch);
          if (batches.size() % 4 == 1) rows.file().lower_by(1);
          if (batches.size() == 6) topology.neighbors().lower_by(1);
          if (batches.size() == 9) topology.offsets().lower_by(1);
        }
        return 0;
      });
      EXPECT_TRUE(batches == expected);
      EXPECT_EQ(rows.file().line_bytes(), 0U);
      EXPECT_FALSE(topology.resident());
      EXPECT_GT(pipeline.reads().rows_on_disk, 0U);
      EXPECT_EQ(pipeline.reads().windows > 0, window > 1 && line_bytes != UINT64_MAX);
    }
  }
}

// Somebody who needs memory in the middle of a pass gets what the line holds.
TEST_F(PipelineWithLines, GivesTheSameWhileOthersTakeTheMemory) {
  const auto expected = resident(kSage);
  memory::Ledger ledger(24 * kMiB);
  const feature::RowSource rows = data_.source({.line_bytes = UINT64_MAX,
                                                .area_bytes = 300 * kKiB,
                                                .areas = 2,
                                                .windows = kWindows,
                                                .window_bytes = kWindowBytes},
                                               ledger);
  const auto reclaimer = ledger.on_shortage([&](uint64_t bytes) { rows.file().lower_by(bytes); });
  Pipeline pipeline(data_.topology, rows, options(kSage, 2, 2), ledger);
  std::atomic<bool> done = false;
  std::atomic<int> lent = 0;
  std::jthread others([&] {
    while (!done) {
      lent += ledger.try_lease("others", 19 * kMiB) ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (int round = 0; round < 10; ++round) {
    // Every other pass has a line below the end, so it has windows.
    rows.file().lower_by(round % 2 == 0 ? 0 : 1);
    rows.file().raise(round % 2 == 0 ? UINT64_MAX : kStep, 1, [](std::span<const std::byte>) {});
    pipeline.start(pass());
    EXPECT_TRUE(in_time([&] { return drain(pipeline); }) == expected);
  }
  done = true;
  EXPECT_GT(lent, 0);
}

TEST_F(PipelineWithLines, SaysWhatItRead) {
  const auto expected = resident(kGat);
  uint64_t nodes = 0;
  for (const BatchCopy& batch : expected) nodes += batch.arrays[0].size();
  {
    const feature::RowSource rows = rows_with(UINT64_MAX);
    Pipeline pipeline(data_.topology, rows, options(kGat, 1, 1), data_.ledger);
    pipeline.start(pass());
    drain(pipeline);
    const ReadCounts reads = pipeline.reads();
    EXPECT_EQ(reads.rows, nodes);
    EXPECT_EQ(reads.rows_on_disk, 0U);
    EXPECT_EQ(reads.reads, 0U);
    EXPECT_EQ(reads.method, "");
  }
  for (const unsigned window : {1U, 4U}) {
    const feature::RowSource rows = rows_with(0);
    Pipeline pipeline(data_.topology, rows, options(kGat, 2, window), data_.ledger);
    pipeline.start(pass());
    drain(pipeline);
    const ReadCounts reads = pipeline.reads();
    EXPECT_EQ(reads.rows, nodes);
    EXPECT_EQ(reads.rows_on_disk, nodes);
    EXPECT_GT(reads.reads, 0U);
    EXPECT_GE(reads.bytes, reads.reads * 512);
    EXPECT_NE(reads.method, "");
    EXPECT_EQ(reads.window_batches, window == 1 ? 0 : expected.size());
  }
}

TEST_F(PipelineWithLines, PassesOnThatAFileIsDamaged) {
  for (const unsigned workers : {1U, 3U}) {
    for (const unsigned window : {1U, 4U}) {
      const sample::Topology topology = store_.lists_with({0, 0});
      sample::overwrite<uint32_t>(store_.folder() / "neighbors.u32", 5, kNodes);
      const feature::RowSource rows = rows_with(0);
      PipelineOptions whole_lists = options(kGcn, workers, window);
      whole_lists.fanout = {kAll};
      Pipeline pipeline(topology, rows, whole_lists, data_.ledger);
      const std::vector<uint32_t> hub = {0};
      pipeline.start({.seeds = Seeds::in_order(hub)});
      expect_error(ErrorKind::store, {"neighbors.u32", "damaged"},
                   [&] { in_time([&] { return pipeline.take(); }); });
    }
  }
}

}  // namespace
}  // namespace plimsoll::batch
