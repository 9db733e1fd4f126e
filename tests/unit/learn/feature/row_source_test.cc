#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "feature/rows.h"
#include "graph/store.h"
#include "temp_folder.h"

namespace plimsoll::feature {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kNodes = 40'000;

// A store of nodes without edges whose rows count 0, 1, 2, ... modulo 251 in bytes.
std::vector<std::byte> write_rows(const fs::path& folder, graph::FeatureType type,
                                  uint64_t columns) {
  graph::Meta meta;
  meta.nodes = kNodes;
  meta.feature_type = type;
  meta.feature_columns = columns;
  meta.row_bytes = padded_row_bytes(type, columns);
  meta.source = {{"name", "rows"}};
  std::vector<std::byte> rows(kNodes * meta.row_bytes);
  for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(i % 251);
  memory::Ledger ledger(64 * kMiB);
  graph::StoreWriter writer(folder, /*replace=*/false, ledger);
  for (const auto& [name, bytes] : expected_files(meta)) {
    const bool features = name.starts_with("features");
    const std::vector<std::byte> zeros(features ? 0 : bytes);
    writer.open_file(name).append(features ? rows : zeros);
    writer.close_file();
  }
  writer.commit(meta);
  return rows;
}

// What lies above the line.
std::vector<std::byte> resident_bytes(const RowSource& rows) {
  const io::LinedFile::Use use(rows.file());
  return {use.data, use.data + use.line_bytes};
}

class Rows : public testing::TestWithParam<std::pair<graph::FeatureType, uint64_t>> {};

TEST_P(Rows, HoldTheStoresBytesAndShape) {
  const auto [type, columns] = GetParam();
  const TempFolder temp;
  const std::vector<std::byte> bytes = write_rows(temp / "store", type, columns);
  const graph::Store store = graph::open(temp / "store");
  for (const unsigned threads : {1U, 3U}) {
    memory::Ledger ledger(64 * kMiB);
    std::atomic<uint64_t> told_bytes = 0;
    const RowSource rows =
        load_rows(store, ledger, {}, threads, [&](uint64_t count) { told_bytes += count; });
    EXPECT_EQ(rows.shape().count, kNodes);
    EXPECT_EQ(rows.shape().columns, columns);
    EXPECT_EQ(rows.shape().half, type == graph::FeatureType::f16);
    EXPECT_EQ(rows.shape().row_bytes, store.meta().row_bytes);
    EXPECT_TRUE(rows.file().resident());
    EXPECT_TRUE(std::ranges::equal(resident_bytes(rows), bytes));
    EXPECT_EQ(told_bytes, bytes.size());
    ASSERT_EQ(ledger.usage().size(), 1U);
    EXPECT_EQ(ledger.usage().front().tag, "features");
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Rows,
                         testing::Values(std::pair{graph::FeatureType::f16, 1U},
                                         std::pair{graph::FeatureType::f16, 100U},
                                         std::pair{graph::FeatureType::f32, 3U},
                                         std::pair{graph::FeatureType::f32, 33U}),
                         [](const auto& param) {
                           return std::string(name(param.param.first)) + "x" +
                                  std::to_string(param.param.second);
                         });

TEST(RowsMoved, StillShowTheirBytes) {
  const TempFolder temp;
  const std::vector<std::byte> bytes = write_rows(temp / "store", graph::FeatureType::f16, 2);
  memory::Ledger ledger(kMiB);
  RowSource loaded = load_rows(graph::open(temp / "store"), ledger, {}, 1, [](uint64_t) {});
  const RowSource moved = std::move(loaded);
  EXPECT_TRUE(std::ranges::equal(resident_bytes(moved), bytes));
}

TEST(RowsBeyondTheLimit, StayOnDisk) {
  const TempFolder temp;
  write_rows(temp / "store", graph::FeatureType::f16, 100);
  memory::Ledger ledger(kMiB);
  const RowSource rows = load_rows(graph::open(temp / "store"), ledger, {}, 1, [](uint64_t) {});
  EXPECT_EQ(rows.file().line_bytes(), 0U);
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(RowsBelowALine, StayOnDisk) {
  const TempFolder temp;
  const std::vector<std::byte> bytes = write_rows(temp / "store", graph::FeatureType::f16, 100);
  memory::Ledger ledger(64 * kMiB);
  const RowSource rows =
      load_rows(graph::open(temp / "store"), ledger, {.line_bytes = 5 * kMiB}, 1, [](uint64_t) {});
  ASSERT_EQ(rows.file().line_bytes(), 4 * kMiB);
  EXPECT_EQ(ledger.used_bytes(), 4 * kMiB);
  EXPECT_TRUE(std::ranges::equal(resident_bytes(rows), std::span(bytes).first(4 * kMiB)));
}

// Somebody else's rows need no ledger and no file.
TEST(RowsOfSomebodyElse, AreResidentAsTheyAre) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const RowSource rows(kernel::Rows{.data = reinterpret_cast<const unsigned char*>(values.data()),
                                    .row_bytes = 8,
                                    .count = 3,
                                    .columns = 2});
  EXPECT_TRUE(rows.file().resident());
  EXPECT_EQ(rows.file().bytes(), 24U);
  rows.file().lower_by(24);
  const io::LinedFile::Use use(rows.file());
  EXPECT_EQ(use.line_bytes, 24U);
  EXPECT_EQ(static_cast<const void*>(use.data), values.data());
}

}  // namespace
}  // namespace plimsoll::feature
