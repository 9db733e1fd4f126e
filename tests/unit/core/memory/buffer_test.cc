#include "memory/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/units.h"
#include "memory/usage.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

bool all_zero(const Buffer<uint64_t>& buffer) {
  return std::all_of(buffer.begin(), buffer.end(), [](uint64_t value) { return value == 0; });
}

TEST(Buffer, IsZeroedAlsoWhereOthersWroteBefore) {
  Ledger ledger(kGiB);
  for (int round = 0; round < 3; ++round) {
    const Buffer<uint64_t> buffer(ledger, "rows", 100'000);
    ASSERT_TRUE(all_zero(buffer)) << round;
    std::fill(buffer.begin(), buffer.end(), UINT64_MAX);
  }
}

TEST(Buffer, BeginsAtAPage) {
  Ledger ledger(kGiB);
  for (const uint64_t count : {1U, 4096U, 5000U, 3U << 20}) {
    const Buffer<char> buffer(ledger, "rows", count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 4096, 0U);
  }
}

TEST(Buffer, HasRoomForAllItsValues) {
  Ledger ledger(kGiB);
  const Buffer<uint32_t> buffer(ledger, "rows", 1025);
  ASSERT_EQ(buffer.size(), 1025U);
  ASSERT_EQ(buffer.span().size(), 1025U);
  ASSERT_EQ(buffer.first(3).size(), 3U);
  for (uint32_t i = 0; i < 1025; ++i) buffer[i] = i;
  EXPECT_EQ(buffer.span().back(), 1024U);
  EXPECT_EQ(buffer.first(3).back(), 2U);
  EXPECT_EQ(buffer.end() - buffer.begin(), 1025);
}

TEST(Buffer, LeasesWholePagesAndReturnsThem) {
  Ledger ledger(kMiB);
  {
    const Buffer<uint64_t> buffer(ledger, "rows", 513);
    EXPECT_EQ(ledger.used_bytes(), 8192U);
    ASSERT_EQ(ledger.usage().size(), 1U);
    EXPECT_EQ(ledger.usage().front().tag, "rows");
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Buffer, TakesNoMemoryForNoValues) {
  Ledger ledger(0);
  const Buffer<uint64_t> buffer(ledger, "rows", 0);
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.begin(), buffer.end());
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Buffer, IsRefusedBeyondTheLimit) {
  Ledger ledger(kMiB);
  expect_error(ErrorKind::memory, {"rows need 1.0 MiB", "left of 1.0 MiB", "--memory"},
               [&] { const Buffer<char> buffer(ledger, "rows", kMiB + 1); });
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

// 8 bytes each wrap round to 8 bytes in all; the others wrap when rounded up to a page.
TEST(Buffer, IsRefusedWhereItsSizeIsBeyondSixtyFourBits) {
  Ledger ledger(kMiB);
  expect_error(ErrorKind::memory, {"rows"},
               [&] { const Buffer<uint64_t> buffer(ledger, "rows", (uint64_t{1} << 61) + 1); });
  expect_error(ErrorKind::memory, {"rows"},
               [&] { const Buffer<char> buffer(ledger, "rows", UINT64_MAX); });
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Buffer, ThatTheKernelCannotGiveIsAMemoryErrorToo) {
  constexpr uint64_t kBeyondAnyAddress = uint64_t{1} << 60;
  Ledger ledger(kBeyondAnyAddress);
  expect_error(ErrorKind::memory, {"rows"},
               [&] { const Buffer<char> buffer(ledger, "rows", kBeyondAnyAddress); });
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Buffer, MovesWithItsLease) {
  Ledger ledger(kMiB);
  Buffer<int> a(ledger, "rows", 10);
  a[9] = 7;
  Buffer<int> b = std::move(a);
  EXPECT_EQ(a.size(), 0U);  // NOLINT(bugprone-use-after-move): what a moved-from buffer holds
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(b[9], 7);
  EXPECT_EQ(ledger.used_bytes(), 4096U);
  b = Buffer<int>();
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Buffer, ReturnsItsPagesToTheKernel) {
  constexpr uint64_t kBytes = 64 * kMiB;
  constexpr uint64_t kSlack = 16 * kMiB;
  Ledger ledger(kBytes);
  const uint64_t before = process_usage().resident_bytes;
  uint64_t while_touched = 0;
  {
    const Buffer<char> buffer(ledger, "rows", kBytes);
    std::fill(buffer.begin(), buffer.end(), '\1');
    while_touched = process_usage().resident_bytes;
  }
  const uint64_t after = process_usage().resident_bytes;
  EXPECT_GE(while_touched + kSlack, before + kBytes);
  EXPECT_LE(after, before + kSlack);
}

}  // namespace
}  // namespace plimsoll::memory
