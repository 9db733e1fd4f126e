#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/units.h"
#include "memory/buffer.h"
#include "page_counter.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

TEST(Pages, ComeFromTheirSourceAndGoBackToIt) {
  Ledger ledger(kMiB);
  PageCounter source;
  {
    const Pages pages(ledger, "rows", 5000, &source);
    EXPECT_EQ(pages.bytes(), 8192U);
    EXPECT_EQ(source.lent_bytes(), 8192U);
    EXPECT_EQ(ledger.used_bytes(), 8192U);
    std::memset(pages.data(), 1, pages.bytes());
  }
  EXPECT_EQ(source.lent_bytes(), 0U);
  EXPECT_EQ(source.allocations(), 1U);
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

// What a source rounds up is taken, so it is leased, and may be used.
TEST(Pages, AreLeasedAsTheSourceRoundsThem) {
  class Doubling final : public PageSource {
   public:
    uint64_t whole_bytes(uint64_t bytes) const override { return 2 * bytes; }
    void* allocate(uint64_t bytes) override { return ::operator new(bytes); }
    void release(void* data, uint64_t /*bytes*/) noexcept override { ::operator delete(data); }
  };
  Ledger ledger(kMiB);
  Doubling source;
  const Pages pages(ledger, "rows", 5000, &source);
  EXPECT_EQ(pages.bytes(), 16384U);
  EXPECT_EQ(ledger.used_bytes(), 16384U);
  std::memset(pages.data(), 1, pages.bytes());
}

TEST(Pages, OfNoBytesAskNobody) {
  Ledger ledger(0);
  PageCounter source;
  const Pages pages(ledger, "rows", 0, &source);
  EXPECT_EQ(pages.data(), nullptr);
  EXPECT_EQ(source.allocations(), 0U);
}

TEST(Pages, AreLeasedBeforeTheSourceIsAsked) {
  Ledger ledger(4096);
  PageCounter source;
  expect_error(ErrorKind::memory, {"rows"},
               [&] { const Pages pages(ledger, "rows", 4097, &source); });
  EXPECT_EQ(source.allocations(), 0U);
}

TEST(Pages, GiveTheirLeaseBackWhereTheSourceRefuses) {
  Ledger ledger(kMiB);
  PageCounter source;
  source.refuses = true;
  EXPECT_THROW(Pages(ledger, "rows", 4096, &source), std::bad_alloc);
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Pages, MoveWithTheirSource) {
  Ledger ledger(kMiB);
  PageCounter source;
  Pages lent(ledger, "rows", 4096, &source);
  Pages from_kernel(ledger, "rows", 8192);
  Pages moved = std::move(lent);
  EXPECT_EQ(moved.bytes(), 4096U);
  moved = std::move(from_kernel);  // each still goes back to where it came from
  EXPECT_EQ(moved.bytes(), 8192U);
  moved = Pages();
  EXPECT_EQ(moved.data(), nullptr);
  EXPECT_EQ(ledger.used_bytes(), source.lent_bytes());
}

TEST(Pages, StayWhenTheirLeaseEnds) {
  PageCounter source;
  Pages pages;
  {
    Ledger ledger(kMiB);
    pages = Pages(ledger, "rows", 4096, &source);
    pages.end_lease();
    EXPECT_EQ(ledger.used_bytes(), 0U);
  }
  EXPECT_EQ(source.lent_bytes(), 4096U);
  std::memset(pages.data(), 1, pages.bytes());
}

}  // namespace
}  // namespace plimsoll::memory
