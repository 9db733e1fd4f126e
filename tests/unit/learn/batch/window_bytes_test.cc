// A window has as many batches as fit into its bytes, and reads each of their rows once.
#include "window_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "batch/window.h"
#include "lined_data.h"
#include "small_batch.h"

namespace plimsoll::batch {
namespace {

// Windows of six batches; one batch has the hub, so it needs many more rows than the others.
class WindowBytes : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint64_t kBatches = 6;
  static constexpr uint64_t kMostBytes = 8 * kMiB;

  void expect_within(uint64_t bytes, const feature::RowSource& rows) {
    Window window(rows, data_.ledger);
    const uint64_t used_bytes = used_for_windows(data_.ledger);
    WindowMaker maker(data_.topology, rows,
                      {.sampling = {.fanout = {kAll, 3}},
                       .window = {.bytes = bytes, .price = {.request_seconds = 0}}},
                      data_.ledger);
    maker.make(window, 10, kBatches, [&](uint64_t index, sample::Neighborhood& out) {
      const std::vector<uint32_t>& seeds = seeds_.at(index - 10);
      out.seeds = static_cast<uint32_t>(seeds.size());
      out.nodes.renew(seeds.size());
      std::ranges::copy(seeds, out.nodes.data());
      return index;
    });
    maker.release();
    EXPECT_LE(used_for_windows(data_.ledger) - used_bytes, whole_pages(bytes));
    EXPECT_LE(window.rows() * row_, bytes);
    EXPECT_EQ(window.first, 10U);
    ASSERT_GE(window.count, 1U);
    ASSERT_LE(window.count, kBatches);

    // It has as many batches as fit, and all rows of a batch that is not the only one.
    const uint64_t most_rows = bytes < 2 * row_ ? 0 : bytes / row_ - 1;
    std::set<uint64_t> wanted;
    for (uint64_t i = 0; i < window.count; ++i) add_rows(window.neighborhoods[i], rows, wanted);
    if (window.count > 1) {
      EXPECT_LE(wanted.size(), most_rows);
    }
    EXPECT_EQ(window.rows(), std::min<uint64_t>(wanted.size(), most_rows));
    if (window.count < kBatches) {
      std::set<uint64_t> one_more = wanted;
      add_rows(window.neighborhoods[window.count], rows, one_more);
      EXPECT_GT(one_more.size(), most_rows);
    }
    std::set<uint64_t> read;
    const io::LinedFile::Use use(rows.file());
    for (uint64_t i = 0; i < data_.rows().count; ++i) {
      if (!window.has(i)) continue;
      read.insert(i);
      ASSERT_TRUE(wanted.contains(i));
      ASSERT_EQ(std::memcmp(use.data + window.place(i) * row_, data_.rows().data + i * row_, row_),
                0);
    }
    EXPECT_EQ(read.size(), window.rows());
    EXPECT_GE(maker.reads().bytes, least_read_bytes(rows, read));
    EXPECT_LE(maker.reads().bytes, least_read_bytes(rows, read) + at_borders(rows));
  }
  void add_rows(const sample::Neighborhood& batch, const feature::RowSource& rows,
                std::set<uint64_t>& to) const {
    for (const uint32_t node : batch.nodes.first(batch.node_count())) {
      if (node >= rows.file().line_bytes() / row_) to.insert(node);
    }
  }

  LinedData data_{lists_with_a_hub(9000, 900), GetParam(), true};
  const uint64_t row_ = data_.rows().row_bytes;
  std::vector<std::vector<uint32_t>> seeds_;
};

INSTANTIATE_TEST_SUITE_P(Columns, WindowBytes, testing::Values(3, 128, 300),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(WindowBytes, AreNeverExceeded) {
  for (const uint64_t line_bytes : {uint64_t{0}, io::kLineStepBytes}) {
    const feature::RowSource rows =
        data_.source({.line_bytes = line_bytes, .windows = 1, .window_bytes = kMostBytes});
    for (const size_t hub_in : {0U, 2U}) {
      seeds_.clear();
      for (uint32_t i = 0; i < kBatches; ++i) seeds_.push_back(every(450, i + 1, 9000));
      seeds_[hub_in].push_back(0);
      for (const uint64_t bytes :
           {uint64_t{0}, uint64_t{1}, row_, 2 * row_ - 1, 2 * row_, 3 * row_, 9 * row_ + 7,
            300 * row_, 700 * row_, 1500 * row_, 3000 * row_, kMostBytes}) {
        SCOPED_TRACE(std::to_string(bytes) + " bytes, line " + std::to_string(line_bytes) +
                     ", hub in " + std::to_string(hub_in));
        expect_within(bytes, rows);
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::batch
