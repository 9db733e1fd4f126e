#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "batch/layerwise.h"
#include "feature/rows.h"
#include "temp_folder.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kNodes = 120'000;
constexpr uint64_t kSpareBytes = 32 * kMiB;  // what the rows leave to others
constexpr uint64_t kStep = io::kLineStepBytes;

float value_of(uint64_t row, uint32_t column) {
  return static_cast<float>(unit_interval(RandomStream(row, 4).at(column)));
}

// Two of three nodes have a row.
class HiddenRowsTest : public testing::TestWithParam<uint32_t> {
 protected:
  HiddenRowsTest() {
    for (uint64_t node = 0; node < kNodes; ++node) {
      if (node % 3 != 1) set_.add(node);
    }
    set_.count();
  }
  uint64_t bytes() const {
    return set_.size() * graph::padded_row_bytes(graph::FeatureType::f32, GetParam());
  }
  // All rows, appended in uneven pieces, with this much memory left.
  const feature::RowSource& fill(uint64_t left_bytes) {
    others_ = ledger_.lease("others", ledger_.available_bytes() - left_bytes);
    hidden_.emplace(
        set_,
        HiddenRows::Options{
            .columns = GetParam(), .folder = folder_.path(), .spare_bytes = kSpareBytes},
        ledger_);
    std::vector<float> rows;
    for (uint64_t first = 0, count = 1; first < set_.size();
         first += count, count = count * 2 + 1) {
      count = std::min(count, set_.size() - first);
      rows.resize(count * GetParam());
      for (uint64_t i = 0; i < rows.size(); ++i) {
        rows[i] = value_of(first + i / GetParam(), static_cast<uint32_t>(i % GetParam()));
      }
      hidden_->append(rows.data(), count);
    }
    return hidden_->finish({.count = 2, .area_bytes = kMiB});
  }
  void expect_rows(const feature::RowSource& source) {
    feature::RowReader reader(source, ledger_);
    const bool resident = source.file().resident();
    if (!resident) reader.prepare(1000);
    const auto queue = io::ReadQueue::open(ledger_);
    const feature::RowReader::Access access(reader);
    const uint64_t step =
        resident ? 7 : 1 + set_.size() / std::min<uint64_t>(reader.room_rows(), 900);
    std::vector<uint64_t> wanted;
    for (uint64_t row = 0; row < set_.size(); row += step) wanted.push_back(row);
    wanted.back() = set_.size() - 1;
    std::vector<uint32_t> places(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto node = static_cast<uint32_t>(set_.at(wanted[i]));
      ASSERT_EQ(source.row_of(node), wanted[i]);
      if (wanted[i] < access.resident_rows()) {
        places[i] = static_cast<uint32_t>(wanted[i]);
      } else {
        reader.want(node, &places[i]);
      }
    }
    reader.read(*queue);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto* row =
          reinterpret_cast<const float*>(access.rows().data + places[i] * source.shape().row_bytes);
      for (uint32_t c = 0; c < GetParam(); ++c) ASSERT_EQ(row[c], value_of(wanted[i], c));
    }
  }

  TempFolder folder_;
  memory::Ledger ledger_{256 * kMiB};
  memory::IndexSet set_{ledger_, kNodes};
  memory::Lease others_;
  std::optional<HiddenRows> hidden_;
};

INSTANTIATE_TEST_SUITE_P(Columns, HiddenRowsTest, testing::Values(1, 6, 32, 129),
                         [](const auto& param) { return std::to_string(param.param); });

TEST_P(HiddenRowsTest, StayInMemoryWhereThereIsRoomToSpare) {
  const feature::RowSource& source = fill(bytes() + kSpareBytes + kMiB);
  EXPECT_TRUE(source.file().resident());
  EXPECT_EQ(source.shape().count, set_.size());
  EXPECT_EQ(source.shape().columns, GetParam());
  expect_rows(source);
  EXPECT_TRUE(names_in(folder_.path()).empty());
}

TEST_P(HiddenRowsTest, GoToANamelessFileWhereThereIsNot) {
  const feature::RowSource& source = fill(16 * kMiB);
  EXPECT_EQ(source.file().line_bytes(), 0U);
  EXPECT_TRUE(names_in(folder_.path()).empty());
  expect_rows(source);
  hidden_.reset();
  EXPECT_EQ(ledger_.available_bytes(), 16 * kMiB);
}

TEST_P(HiddenRowsTest, HaveALineWhereThereIsSomeRoom) {
  if (bytes() < 2 * kStep) GTEST_SKIP() << "too few bytes for a line";
  const feature::RowSource& source = fill(kSpareBytes + kStep + kMiB);
  EXPECT_EQ(source.file().line_bytes(), kStep);
  expect_rows(source);
  // Whoever needs the memory gets it.
  const memory::Lease more = ledger_.lease("others", ledger_.available_bytes() + 1);
  EXPECT_EQ(source.file().line_bytes(), 0U);
  others_ = memory::Lease();
  expect_rows(source);
}

TEST(HiddenRowsOfNothing, AreResident) {
  const TempFolder folder;
  memory::Ledger ledger(64 * kMiB);
  memory::IndexSet none(ledger, 100);
  none.count();
  HiddenRows hidden(none, {.columns = 5, .folder = folder.path()}, ledger);
  EXPECT_TRUE(hidden.finish({}).file().resident());
}

}  // namespace
}  // namespace plimsoll::batch
