#include "feature/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "graph/store_writer.h"
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

class Rows : public testing::TestWithParam<std::pair<graph::FeatureType, uint64_t>> {};

TEST_P(Rows, HoldTheStoresBytesAndShape) {
  const auto [type, columns] = GetParam();
  const TempFolder temp;
  const std::vector<std::byte> bytes = write_rows(temp / "store", type, columns);
  const graph::Store store = graph::open(temp / "store");
  for (const unsigned threads : {1U, 3U}) {
    memory::Ledger ledger(64 * kMiB);
    std::atomic<uint64_t> told_bytes = 0;
    const ResidentRows resident =
        load_rows(store, ledger, threads, [&](uint64_t count) { told_bytes += count; });
    const kernel::Rows& rows = resident.rows();
    EXPECT_EQ(rows.count, kNodes);
    EXPECT_EQ(rows.columns, columns);
    EXPECT_EQ(rows.half, type == graph::FeatureType::f16);
    EXPECT_EQ(rows.row_bytes, store.meta().row_bytes);
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(rows.data, bytes.size())), bytes));
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
  ResidentRows loaded = load_rows(graph::open(temp / "store"), ledger, 1, [](uint64_t) {});
  const ResidentRows moved = std::move(loaded);
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(moved.rows().data, bytes.size())), bytes));
}

TEST(RowsBeyondTheLimit, AreRefused) {
  const TempFolder temp;
  write_rows(temp / "store", graph::FeatureType::f16, 100);
  memory::Ledger ledger(kMiB);
  expect_error(ErrorKind::memory, {"features"},
               [&] { load_rows(graph::open(temp / "store"), ledger, 1, [](uint64_t) {}); });
}

}  // namespace
}  // namespace plimsoll::feature
