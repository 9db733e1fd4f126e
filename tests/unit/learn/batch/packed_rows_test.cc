#include "batch/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/file.h"
#include "temp_folder.h"

namespace plimsoll::batch {
namespace {

class PackedRowsOf : public testing::TestWithParam<uint64_t> {
 protected:
  std::string row(uint64_t batch, uint64_t i) const {
    return std::string(GetParam(), static_cast<char>('a' + (batch * 7 + i) % 23));
  }
  void put(PackedRows& packed, const PackedRows::Want& want) {
    std::string kept;
    packed.put(
        want,
        [&](uint64_t i) {
          kept = row(want.batch, i);
          return reinterpret_cast<const std::byte*>(kept.data());
        },
        stage_.span());
  }
  void expect_found(const PackedRows& packed, const PackedRows::Want& want) {
    ASSERT_TRUE(packed.has(want));
    const memory::Buffer<std::byte> area(ledger_, "area", packed.bytes_of(want));
    packed.read(want, area.span());
    for (uint64_t i = 0; i < want.rows; ++i) {
      ASSERT_EQ(std::memcmp(area.data() + i * GetParam(), row(want.batch, i).data(), GetParam()), 0)
          << "row " << i << " of batch " << want.batch;
    }
  }

  TempFolder folder_;
  memory::Ledger ledger_{64 * kMiB};
  memory::Buffer<std::byte> stage_{ledger_, "stage", 2 * io::kBlockBytes};
};

INSTANTIATE_TEST_SUITE_P(RowBytes, PackedRowsOf, testing::Values(1, 16, 256, 512, 1536, 65'536));

TEST_P(PackedRowsOf, GivesBackWhatWasPut) {
  PackedRows packed({folder_.path(), 4, GetParam()}, ledger_);
  const std::vector<PackedRows::Want> wants = {{2, 100, 9}, {0, 1, 9}, {3, 33, 4}};
  for (const auto& want : wants) put(packed, want);
  for (const auto& want : wants) expect_found(packed, want);
  EXPECT_FALSE(packed.has({1, 5, 9}));
}

TEST_P(PackedRowsOf, IsFoundByTheSameWantAlone) {
  PackedRows packed({folder_.path(), 2, GetParam()}, ledger_);
  put(packed, {1, 10, 5});
  EXPECT_TRUE(packed.has({1, 10, 5}));
  EXPECT_FALSE(packed.has({1, 11, 5}));
  EXPECT_FALSE(packed.has({1, 10, 6}));
  EXPECT_FALSE(packed.has({0, 10, 5}));
  EXPECT_FALSE(packed.has({0, 0, 0}));
  put(packed, {1, 3, 6});
  EXPECT_FALSE(packed.has({1, 10, 5}));
  expect_found(packed, {1, 3, 6});
}

TEST_P(PackedRowsOf, HasNothingOfAnotherDrawing) {
  PackedRows packed({folder_.path(), 2, GetParam()}, ledger_);
  packed.begin(0);
  put(packed, {1, 10, 5});
  packed.begin(0);
  expect_found(packed, {1, 10, 5});
  packed.begin(1);
  EXPECT_FALSE(packed.has({1, 10, 5}));
  put(packed, {0, 10, 5});
  expect_found(packed, {0, 10, 5});
}

}  // namespace
}  // namespace plimsoll::batch
