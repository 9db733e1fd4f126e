// Windows change what a pipeline reads and when, never what it gives.
#include "batch/window.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "batch/layerwise.h"
#include "batch/pipeline.h"
#include "graph/store.h"
#include "lined_data.h"
#include "small_batch.h"
#include "small_pipeline.h"
#include "window_bytes.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kWindowStep = io::kLineStepBytes;
constexpr uint32_t kWindowNodes = 30'000;
constexpr uint64_t kWindowRoom = 8 * kMiB;
constexpr unsigned kAllBatches = 1000;

struct WindowStyle {
  const char* name;
  Assembly assembly;
  std::vector<uint32_t> fanout = {5, 3};
  recipe::Draw draw = recipe::Draw::uniform;
};
const std::vector<WindowStyle>& window_styles() {
  static const std::vector<WindowStyle> all = {
      {"Gcn", kGcn},
      {"GcnLabor", kGcn, {5, 3}, recipe::Draw::labor},
      {"GcnSampled", kGcnSampled},
      {"Sage", kSage},
      {"SageLabor", kSage, {4, kAll}, recipe::Draw::labor},
      {"Gat", kGat, {kAll}},
      {"GatLabor", kGat, {5, 3}, recipe::Draw::labor},
      {"Sums", {Input::aggregated_and_own, Weighting::mean, false, true}, {3, 0}},
      {"Mlp", {Input::rows, Weighting::none, false}, {}},
  };
  return all;
}

// Rows of 256 bytes, almost four steps of them, and lists of more than one step, with a hub.
class InWindows : public testing::TestWithParam<WindowStyle> {
 protected:
  LinedData::Place place(uint64_t line_bytes) const {
    return {.line_bytes = line_bytes,
            .area_bytes = 200 * kKiB,
            .areas = 3,
            .windows = kWindows,
            .window_bytes = kWindowRoom};
  }
  static PipelineOptions options(const WindowStyle& style, unsigned window, unsigned workers = 2) {
    return {
        .fanout = style.fanout,
        .draw = style.draw,
        .assembly = style.assembly,
        .workers = workers,
        .slots = workers + 2,
        .window = {
            .batches = window, .first_batches = std::max(1U, window / 8), .bytes = kWindowRoom}};
  }
  Pass pass(uint64_t first_batch = 0) const {
    return {.seeds = Seeds::shuffled(store_.seeds, 5),
            .labels = store_.labels,
            .batch_size = 30,
            .first_batch = first_batch,
            .key = 8,
            .gradients = true};
  }
  std::vector<BatchCopy> run(Pipeline& pipeline, uint64_t first_batch = 0) const {
    pipeline.start(pass(first_batch));
    return in_time([&] { return drain(pipeline); });
  }
  // All that a pass gives if everything is resident.
  std::vector<BatchCopy> resident(const WindowStyle& style) {
    const feature::RowSource rows(data_.rows());
    Pipeline pipeline(data_.topology, rows, options(style, 1, 1), data_.ledger);
    return run(pipeline);
  }

  LinedData data_{lists_with_a_hub(kWindowNodes, 700, 48), 128, true};
  LinedStore store_{data_, 61};
};

INSTANTIATE_TEST_SUITE_P(Styles, InWindows, testing::ValuesIn(window_styles()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(InWindows, GivesTheBatchesOfResidentData) {
  const auto expected = resident(GetParam());
  const std::vector<BatchCopy> later(expected.begin() + 5, expected.end());
  ASSERT_EQ(expected.size(), 17U);
  unsigned count = 0;
  for (const auto& lines :
       std::vector<sample::TopologyLines>{{}, {UINT64_MAX, kWindowStep}, {0, 0}}) {
    const sample::Topology topology = store_.lists_with(lines);
    for (const uint64_t line_bytes : {uint64_t{0}, kWindowStep, UINT64_MAX}) {
      const feature::RowSource rows = data_.source(place(line_bytes));
      const bool all_resident = rows.file().resident() && topology.resident();
      for (const unsigned window : {1U, 2U, 7U, 64U, kAllBatches}) {
        const unsigned workers = ++count % 2 == 0 ? 1 : 3;
        SCOPED_TRACE("lists " + std::to_string(lines.neighbors_bytes) + ", rows " +
                     std::to_string(line_bytes) + ", window " + std::to_string(window) + ", " +
                     std::to_string(workers) + " workers");
        Pipeline pipeline(topology, rows, options(GetParam(), window, workers), data_.ledger);
        EXPECT_TRUE(run(pipeline) == expected);
        EXPECT_EQ(pipeline.reads().window_batches, window == 1 || all_resident ? 0 : 17U);
        EXPECT_TRUE(run(pipeline, 5) == later);
        EXPECT_TRUE(run(pipeline, 17).empty());
      }
    }
  }
}

class WindowTest : public InWindows {
 protected:
  const WindowStyle gcn_ = window_styles()[0];
  const WindowStyle sage_ = window_styles()[3];
};

// What a layer made of some nodes: rows in the order of a set.
TEST_F(WindowTest, GivesTheRowsOfASet) {
  const std::vector<Seeds> asked = {Seeds::in_order(store_.seeds)};
  const auto sets = needed_nodes(asked, 1, data_.topology, data_.ledger);
  const memory::IndexSet& set = sets.front();
  kernel::Rows shape = data_.rows();
  shape.count = set.size();
  ASSERT_LT(shape.count, kWindowNodes);
  ASSERT_GT(shape.count * shape.row_bytes, kWindowStep);
  const WindowStyle style = {"sage", kSage, {kAll}};
  const feature::RowSource in_memory(shape, &set);
  Pipeline reference(data_.topology, in_memory, options(style, 1), data_.ledger);
  const auto expected = run(reference);
  for (const uint64_t line_bytes : {uint64_t{0}, kWindowStep, UINT64_MAX}) {
    const LinedData::Place where = place(line_bytes);
    const feature::RowSource rows({.path = data_.file(),
                                   .shape = shape,
                                   .areas = where.areas,
                                   .area_bytes = where.area_bytes,
                                   .windows = where.windows,
                                   .window_bytes = where.window_bytes,
                                   .set = &set},
                                  data_.ledger);
    rows.file().raise(line_bytes, 1, [](std::span<const std::byte>) {});
    for (const unsigned window : {1U, 2U, 7U, kAllBatches}) {
      Pipeline pipeline(data_.topology, rows, options(style, window), data_.ledger);
      EXPECT_TRUE(run(pipeline) == expected) << line_bytes << ", window " << window;
    }
  }
}

// Much too small for a batch, for some batches, and for all.
TEST_F(WindowTest, GivesTheSameBatchesWithAnyBytes) {
  const auto expected = resident(gcn_);
  uint64_t most_nodes = 0;
  for (const BatchCopy& batch : expected) {
    most_nodes = std::max(most_nodes, batch.arrays[0].size());
  }
  uint64_t last_windows = UINT64_MAX;
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{256}, uint64_t{1000}, 20 * kKiB, 150 * kKiB,
                               400 * kKiB, kMiB, kWindowRoom}) {
    SCOPED_TRACE(bytes);
    LinedData::Place where = place(0);
    where.window_bytes = bytes;
    const feature::RowSource rows = data_.source(where);
    PipelineOptions wanted = options(gcn_, 64);
    wanted.window.bytes = bytes;
    Pipeline pipeline(data_.topology, rows, wanted, data_.ledger);
    pipeline.start(pass());
    std::vector<BatchCopy> batches;
    uint64_t most_used = 0;
    in_time([&] {
      while (const Batch* batch = pipeline.take()) {
        batches.emplace_back(*batch);
        most_used = std::max(most_used, used_for_windows(data_.ledger));
        pipeline.give_back(batch);
      }
      return 0;
    });
    EXPECT_TRUE(batches == expected);
    const uint64_t drafts = 17 * whole_pages(2 * most_nodes * sizeof(sample::ListBounds));
    EXPECT_LE(most_used,
              kWindows * (whole_pages(bytes) + Window::bytes_needed(kWindowNodes)) + drafts);
    EXPECT_EQ(pipeline.reads().window_batches, 17U);
    EXPECT_LE(pipeline.reads().windows, last_windows);
    last_windows = pipeline.reads().windows;
  }
  EXPECT_LE(last_windows, 3U);
}

TEST_F(WindowTest, ReadsEachRowOnceAWindow) {
  std::set<uint64_t> all;
  uint64_t nodes = 0;
  for (const BatchCopy& batch : resident(sage_)) {
    all.insert(batch.arrays[0].begin(), batch.arrays[0].end());
    nodes += batch.arrays[0].size();
  }
  LinedData::Place where = place(0);
  where.area_bytes = 4 * kMiB;  // so that no batch reads a row twice
  const feature::RowSource rows = data_.source(where);
  uint64_t last_bytes = UINT64_MAX;
  for (const unsigned window : {1U, 2U, 7U, 64U, kAllBatches}) {
    SCOPED_TRACE(window);
    PipelineOptions wanted = options(sage_, window);
    wanted.window.price.request_seconds = 0;
    Pipeline pipeline(data_.topology, rows, wanted, data_.ledger);
    run(pipeline);
    const ReadCounts reads = pipeline.reads();
    EXPECT_EQ(reads.rows, nodes);
    EXPECT_EQ(reads.rows_on_disk, nodes);
    EXPECT_LT(reads.bytes, last_bytes);
    last_bytes = reads.bytes;
    EXPECT_EQ(reads.window_batches, window == 1 ? 0 : 17U);
    EXPECT_EQ(reads.windows > 0, window > 1);
    EXPECT_LE(reads.windows, 17U);
    EXPECT_GE(reads.windows, reads.window_batches / window);
    if (window == kAllBatches) {
      EXPECT_EQ(reads.windows, 1U);
    }
  }
  EXPECT_GE(last_bytes, least_read_bytes(rows, all));
  EXPECT_LE(last_bytes, least_read_bytes(rows, all) + at_borders(rows));
}

// A small last window would be sparse.
TEST_F(WindowTest, HasAsManyBatchesAsTheOthersOfItsPass) {
  const feature::RowSource rows = data_.source(place(0));
  const auto sizes = [&](const WindowOptions& options, uint64_t first, uint64_t last) {
    WindowQueue queue(rows, options, data_.ledger);
    queue.begin({first, last}, /*in_use=*/true, /*keeps_ahead=*/false);
    std::vector<uint64_t> all;
    while (queue.has_more()) {
      auto entry = queue.take();
      all.push_back(entry->wanted);
      entry->window.count = entry->wanted;
      queue.open(std::move(entry));
      WindowQueue::Entry* const open = queue.find(first);
      for (uint64_t left = all.back(); left > 0; --left) queue.batch_ended(*open);
      first += all.back();
    }
    return all;
  };
  using Sizes = std::vector<uint64_t>;
  EXPECT_EQ(sizes({.batches = 16, .first_batches = 16}, 0, 17), (Sizes{9, 8}));
  EXPECT_EQ(sizes({.batches = 16, .first_batches = 16}, 3, 17), (Sizes{14}));
  EXPECT_EQ(sizes({.batches = 16, .first_batches = 2}, 0, 17), (Sizes{2, 4, 8, 3}));
  EXPECT_EQ(sizes({.batches = 100, .first_batches = 100}, 0, 17), (Sizes{17}));
}

// The kernel would clear fresh pages in every epoch.
TEST_F(WindowTest, LeavesItsMemoryToTheNextPass) {
  const feature::RowSource rows = data_.source(place(0));
  WindowQueue queue(rows, {.batches = 8, .first_batches = 8}, data_.ledger);
  const uint64_t before = data_.ledger.used_bytes();
  queue.begin({0, 17}, /*in_use=*/true, /*keeps_ahead=*/false);
  auto made = queue.take();
  const WindowQueue::Entry* const first = made.get();
  made->window.count = made->wanted;
  queue.open(std::move(made));
  const uint64_t held = data_.ledger.used_bytes();
  ASSERT_GT(held, before);

  queue.begin({0, 17}, /*in_use=*/true, /*keeps_ahead=*/false);
  EXPECT_EQ(queue.find(0), nullptr);
  EXPECT_EQ(queue.take().get(), first);

  queue.begin({0, 17}, /*in_use=*/true, /*keeps_ahead=*/false);
  queue.open(queue.take());
  queue.begin({0, 17}, /*in_use=*/false, /*keeps_ahead=*/false);
  EXPECT_EQ(data_.ledger.used_bytes(), before);
}

// From hardly any memory to memory for the largest windows.
TEST_F(WindowTest, GivesTheSameBatchesOrFailsWithAnyLimit) {
  const auto expected = resident(gcn_);
  for (const auto& lines : std::vector<sample::TopologyLines>{{}, {0, 0}}) {
    const sample::Topology topology = store_.lists_with(lines);
    for (const unsigned workers : {1U, 3U}) {
      std::set<uint64_t> in_windows;
      int failed = 0;
      for (uint64_t limit = 256 * kKiB; limit < 80 * kMiB; limit += limit / 3) {
        SCOPED_TRACE(std::to_string(limit) + " bytes, " + std::to_string(workers) + " workers");
        memory::Ledger ledger(limit);
        const feature::RowSource rows = data_.source(place(0), ledger);
        Pipeline pipeline(topology, rows, options(gcn_, 16, workers), ledger);
        try {
          const auto batches = run(pipeline);
          in_windows.insert(pipeline.reads().window_batches);
          EXPECT_TRUE(batches == expected || batches.size() > expected.size());
        } catch (const Error& error) {
          EXPECT_EQ(name(error.kind()), name(ErrorKind::memory)) << error.what();
          ++failed;
        }
        EXPECT_LE(ledger.peak_bytes(), limit);
      }
      EXPECT_GT(failed, 0);
      EXPECT_TRUE(in_windows.contains(0)) << "given up";
      EXPECT_TRUE(in_windows.contains(17)) << "kept";
    }
  }
}

TEST_F(WindowTest, GivesTheSameWhenABatchIsMadeAgainInTheMiddle) {
  const auto expected = resident(sage_);
  const sample::Topology topology = store_.lists_with({UINT64_MAX, kWindowStep});
  const feature::RowSource rows = data_.source(place(kWindowStep));
  for (const unsigned window : {2U, 7U, 64U, kAllBatches}) {
    for (const unsigned workers : {1U, 3U}) {
      for (const uint64_t every_nth : {2U, 5U}) {
        Pipeline pipeline(topology, rows, options(sage_, window, workers), data_.ledger);
        pipeline.start(pass());
        std::vector<BatchCopy> batches;
        std::set<uint64_t> refused;
        in_time([&] {
          while (const Batch* batch = pipeline.take()) {
            if (batch->index % every_nth == 1 && refused.insert(batch->index).second) {
              EXPECT_TRUE(pipeline.make_again(batch, batch->index % 2 == 0));
              continue;
            }
            batches.emplace_back(*batch);
            pipeline.give_back(batch);
          }
          return 0;
        });
        EXPECT_TRUE(batches == expected) << window << ", " << workers << " workers";
        EXPECT_GT(pipeline.reads().windows, 0U);
      }
    }
  }
}

TEST_F(WindowTest, GivesTheSameWhenLinesGoDownInTheMiddle) {
  const auto expected = resident(gcn_);
  for (const unsigned window : {2U, 7U, kAllBatches}) {
    for (const unsigned workers : {1U, 3U}) {
      const sample::Topology topology = store_.lists_with({UINT64_MAX, kWindowStep});
      const feature::RowSource rows = data_.source(place(3 * kWindowStep));
      Pipeline pipeline(topology, rows, options(gcn_, window, workers), data_.ledger);
      pipeline.start(pass());
      std::vector<BatchCopy> batches;
      in_time([&] {
        while (const Batch* batch = pipeline.take()) {
          batches.emplace_back(*batch);
          pipeline.give_back(batch);
          rows.file().lower_by(batches.size() % 3 == 2 ? 1 : 0);
          if (batches.size() == 4) topology.neighbors().lower_by(1);
          if (batches.size() == 6) topology.offsets().lower_by(1);
        }
        return 0;
      });
      EXPECT_TRUE(batches == expected) << window << ", " << workers << " workers";
      EXPECT_EQ(rows.file().line_bytes(), 0U);
    }
  }
}

// Takes some batches, breaks something, expects the error, and repairs it.
template <typename Break, typename Repair>
void expect_error_in_the_middle(Pipeline& pipeline, const Pass& pass, ErrorKind kind,
                                const Break& break_it, const Repair& repair) {
  pipeline.start(pass);
  for (int i = 0; i < 3; ++i) pipeline.give_back(in_time([&] { return pipeline.take(); }));
  break_it();
  expect_error(kind, {}, [&] { in_time([&] { return drain(pipeline); }); });
  expect_error(kind, {}, [&] { in_time([&] { return pipeline.take(); }); });  // and again
  repair();
}

TEST_F(WindowTest, SaysThatAFileWasCut) {
  const auto expected = resident(gcn_);
  const feature::RowSource rows = data_.source(place(0));
  const sample::Topology topology = store_.lists_with({0, 0});
  const std::vector<std::filesystem::path> files = {data_.file(), store_.folder() / "neighbors.u32",
                                                    store_.folder() / "offsets.u64"};
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    const std::string content = read_file(file);
    for (const unsigned window : {2U, 4U}) {
      Pipeline pipeline(topology, rows, options(gcn_, window), data_.ledger);
      expect_error_in_the_middle(
          pipeline, pass(), ErrorKind::store, [&] { std::filesystem::resize_file(file, 4096); },
          [&] { write_file(file, content); });
      if (window == 4) continue;  // ended as it is
      EXPECT_TRUE(run(pipeline) == expected);
    }
  }
}

TEST_F(WindowTest, SaysThatTheDiskReadsNoMore) {
  const auto expected = resident(gcn_);
  const feature::RowSource rows = data_.source(place(0));
  const int file = rows.file().file().file.fd.get();
  const int saved = ::dup(file);
  const int unreadable = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const unsigned window : {2U, 4U}) {
    Pipeline pipeline(data_.topology, rows, options(gcn_, window), data_.ledger);
    expect_error_in_the_middle(
        pipeline, pass(), ErrorKind::io, [&] { ::dup2(unreadable, file); },
        [&] { ::dup2(saved, file); });
    EXPECT_TRUE(run(pipeline) == expected);
  }
  ::close(saved);
  ::close(unreadable);
}

}  // namespace
}  // namespace plimsoll::batch
