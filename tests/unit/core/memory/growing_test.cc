#include "memory/growing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>

#include "base/units.h"
#include "page_counter.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

TEST(Growing, BeginsWithoutRoom) {
  Ledger ledger(0);
  const Growing<uint32_t> array(ledger, "rows");
  EXPECT_EQ(array.capacity(), 0U);
  EXPECT_EQ(array.data(), nullptr);
  EXPECT_TRUE(array.first(0).empty());
}

TEST(Growing, KeepsWhatItIsToldToKeep) {
  Ledger ledger(kMiB);
  Growing<uint32_t> array(ledger, "rows");
  array.reserve(1000, 0);
  std::iota(array.data(), array.data() + 1000, 0U);
  array.reserve(50'000, 1000);
  ASSERT_GE(array.capacity(), 50'000U);
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(array[i], i);
}

TEST(Growing, NeverShrinksAndStaysWhereItIsWhileThereIsRoom) {
  Ledger ledger(kMiB);
  Growing<uint32_t> array(ledger, "rows");
  array.reserve(5000, 0);
  const uint32_t* data = array.data();
  const uint64_t used_bytes = ledger.used_bytes();
  for (uint64_t count = 0; count <= array.capacity(); count += 100) {
    array.reserve(count, 0);
    array.renew(count);
  }
  array.reserve(array.capacity(), 0);
  EXPECT_EQ(array.data(), data);
  EXPECT_EQ(ledger.used_bytes(), used_bytes);
}

// One value at a time costs a few copies, not one for every value.
TEST(Growing, GrowsByHalfAtLeast) {
  Ledger ledger(64 * kMiB);
  PageCounter source;
  Growing<uint32_t> array(ledger, "rows", &source);
  constexpr uint64_t kCount = kMiB;
  for (uint64_t i = 0; i < kCount; ++i) {
    array.reserve(i + 1, i);
    array[i] = static_cast<uint32_t>(i);
  }
  for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(array[i], i);
  EXPECT_LE(source.allocations(), 20U);
}

TEST(Growing, LeasesTheNewRoomBeforeItGivesBackTheOld) {
  Ledger ledger(3 * 4096);
  Growing<uint32_t> array(ledger, "rows");
  array.reserve(1024, 0);
  array[1023] = 7;
  array.reserve(2048, 1024);
  EXPECT_EQ(ledger.peak_bytes(), 3U * 4096);
  EXPECT_EQ(ledger.used_bytes(), 2U * 4096);
  EXPECT_EQ(array[1023], 7U);
}

TEST(Growing, KeepsItsValuesWhereMoreIsRefused) {
  Ledger ledger(2 * 4096);
  Growing<uint32_t> array(ledger, "rows");
  array.reserve(1024, 0);
  array[1023] = 7;
  expect_error(ErrorKind::memory, {"rows"}, [&] { array.reserve(2048, 1024); });
  EXPECT_EQ(array.capacity(), 1024U);
  EXPECT_EQ(array[1023], 7U);
  EXPECT_EQ(ledger.used_bytes(), 4096U);
}

TEST(Growing, RenewsWhereOldAndNewTogetherWouldNotFit) {
  Ledger ledger(3 * 4096);
  Growing<uint32_t> array(ledger, "rows");
  array.reserve(2048, 0);
  array.renew(2049);
  EXPECT_GE(array.capacity(), 2049U);
  EXPECT_EQ(ledger.used_bytes(), 3U * 4096);
}

TEST(Growing, CanBeRenewedAfterARefusal) {
  Ledger ledger(4 * 4096);
  Growing<uint32_t> array(ledger, "rows");
  array.renew(1000);
  expect_error(ErrorKind::memory, {"rows"}, [&] { array.renew(100'000); });
  EXPECT_EQ(array.capacity(), 0U);
  EXPECT_EQ(ledger.used_bytes(), 0U);
  array.renew(1000);
  array[999] = 1;
  EXPECT_GE(array.capacity(), 1000U);
}

TEST(Growing, CopiesItsKindWithoutItsRoom) {
  Ledger ledger(kMiB);
  PageCounter source;
  Growing<uint32_t> array(ledger, "rows", &source);
  array.reserve(1000, 0);
  Growing<uint32_t> copy = array.empty_copy();
  EXPECT_EQ(copy.capacity(), 0U);
  copy.reserve(1000, 0);
  EXPECT_EQ(source.lent_bytes(), ledger.used_bytes());
  ASSERT_EQ(ledger.usage().size(), 1U);
  EXPECT_EQ(ledger.usage().front().tag, "rows");
}

TEST(Growing, TakesAndReturnsPagesOfItsSource) {
  Ledger ledger(kMiB);
  PageCounter source;
  {
    Growing<uint64_t> array(ledger, "rows", &source);
    array.reserve(1000, 0);
    array.renew(3000);
    array.reserve(9000, 3000);
    Growing<uint64_t> moved = std::move(array);
    moved.reserve(20'000, 9000);
    EXPECT_EQ(source.allocations(), 4U);
    EXPECT_EQ(source.lent_bytes(), ledger.used_bytes());
  }
  EXPECT_EQ(source.lent_bytes(), 0U);
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

}  // namespace
}  // namespace plimsoll::memory
