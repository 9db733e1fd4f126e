#include "memory/usage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "memory/buffer.h"

namespace plimsoll::memory {
namespace {

constexpr uint64_t kBytes = 96 * kMiB;
constexpr uint64_t kSlack = 16 * kMiB;

TEST(ProcessUsage, IsThatOfAProgramAtWork) {
  const ProcessUsage usage = process_usage();
  EXPECT_GT(usage.resident_bytes, 512 * kKiB);
  EXPECT_LE(usage.resident_bytes, usage.peak_resident_bytes + kSlack);
}

TEST(ProcessUsage, GrowsWithPagesThatAreTouchedOnly) {
  Ledger ledger(kBytes);
  const uint64_t before = process_usage().resident_bytes;
  const Buffer<char> buffer(ledger, "rows", kBytes);
  EXPECT_LE(process_usage().resident_bytes, before + kSlack);
  std::fill(buffer.begin(), buffer.end(), '\1');
  EXPECT_GE(process_usage().resident_bytes + kSlack, before + kBytes);
}

TEST(ProcessUsage, RemembersThePeak) {
  Ledger ledger(2 * kBytes);
  uint64_t at_most = 0;
  {
    const Buffer<char> buffer(ledger, "rows", 2 * kBytes);
    std::fill(buffer.begin(), buffer.end(), '\1');
    at_most = process_usage().resident_bytes;
  }
  const ProcessUsage after = process_usage();
  EXPECT_GE(after.peak_resident_bytes + kSlack, at_most);
  EXPECT_GE(after.peak_resident_bytes, after.resident_bytes + kBytes);
}

}  // namespace
}  // namespace plimsoll::memory
