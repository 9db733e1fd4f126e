#include "memory/ledger.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

TEST(Ledger, LendsUpToTheLastByteAndTakesBack) {
  Ledger ledger(100);
  {
    const Lease a = ledger.lease("a", 60);
    const Lease b = ledger.lease("b", 40);
    EXPECT_EQ(a.bytes(), 60U);
    EXPECT_EQ(ledger.used_bytes(), 100U);
    EXPECT_EQ(ledger.available_bytes(), 0U);
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
  EXPECT_EQ(ledger.available_bytes(), 100U);
  EXPECT_EQ(ledger.limit_bytes(), 100U);
}

TEST(Ledger, RefusesALeaseBeyondTheLimit) {
  Ledger ledger(100);
  const Lease a = ledger.lease("a", 60);
  EXPECT_FALSE(ledger.try_lease("b", 41));
  EXPECT_TRUE(ledger.try_lease("b", 40));
  EXPECT_FALSE(ledger.try_lease("b", UINT64_MAX));  // must not wrap round
  EXPECT_FALSE(ledger.try_lease("b", UINT64_MAX - 59));
}

TEST(Ledger, KeepsNothingOfARefusedLease) {
  Ledger ledger(100);
  const Lease a = ledger.lease("a", 60);
  EXPECT_FALSE(ledger.try_lease("b", 50));
  EXPECT_THROW(ledger.lease("c", 50), Error);
  EXPECT_EQ(ledger.used_bytes(), 60U);
  EXPECT_EQ(ledger.peak_bytes(), 60U);
  ASSERT_EQ(ledger.usage().size(), 1U);
  EXPECT_EQ(ledger.usage().front().tag, "a");
}

TEST(Ledger, SaysWhatWasAskedWhatIsLeftAndWhoHoldsTheRest) {
  Ledger ledger(16 * kGiB);
  const Lease small = ledger.lease("file buffers", 512 * kMiB);
  const Lease large = ledger.lease("edge lists", 11 * kGiB + 512 * kMiB);
  expect_error(ErrorKind::memory,
               {"feature rows need 6.2 GiB", "4.0 GiB left of 16.0 GiB",
                "(edge lists 11.5 GiB, file buffers 512.0 MiB)", "raise --memory"},
               [&] { ledger.lease("feature rows", 6 * kGiB + 205 * kMiB); });
}

TEST(Ledger, NamesNoHoldersWhereThereAreNone) {
  Ledger ledger(1024);
  try {
    ledger.lease("feature rows", 2048);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "feature rows need 2.0 KiB, 1.0 KiB left of 1.0 KiB; raise --memory");
  }
}

TEST(Ledger, AddsUpLeasesOfOneTagLargestFirst) {
  Ledger ledger(100);
  const Lease a = ledger.lease("a", 10);
  std::optional<Lease> b = ledger.lease("b", 20);
  const Lease c = ledger.lease("a", 15);
  auto usage = ledger.usage();
  ASSERT_EQ(usage.size(), 2U);
  EXPECT_EQ(usage[0].tag, "a");
  EXPECT_EQ(usage[0].bytes, 25U);
  EXPECT_EQ(usage[1].tag, "b");
  EXPECT_EQ(usage[1].bytes, 20U);
  b.reset();
  usage = ledger.usage();
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage[0].tag, "a");
}

TEST(Ledger, RemembersThePeak) {
  Ledger ledger(100);
  EXPECT_EQ(ledger.peak_bytes(), 0U);
  { const Lease a = ledger.lease("a", 70); }
  { const Lease b = ledger.lease("b", 30); }
  EXPECT_EQ(ledger.peak_bytes(), 70U);
}

TEST(Ledger, HoldsForEveryThreadAtOnce) {
  constexpr uint64_t kLimit = 1000;
  constexpr uint64_t kThreads = 8;
  Ledger ledger(kLimit);
  std::atomic<uint64_t> lent = 0;  // never more than the ledger's own count
  std::atomic<int> broken = 0;
  std::atomic<int> granted = 0;
  std::atomic<int> refused = 0;
  std::latch start(kThreads);
  const auto work = [&](uint64_t thread) {
    start.arrive_and_wait();
    const RandomStream stream(1, thread);
    std::vector<Lease> held;
    for (uint64_t i = 0; i < 20'000; ++i) {
      if (auto lease = ledger.try_lease(thread % 2 == 0 ? "even" : "odd",
                                        1 + below(stream.at(i), kLimit / 3))) {
        if ((lent += lease->bytes()) > kLimit) ++broken;
        held.push_back(std::move(*lease));
        ++granted;
      } else {
        ++refused;
        for (const Lease& each : held) lent -= each.bytes();
        held.clear();
      }
      if (ledger.used_bytes() > kLimit) ++broken;
    }
    for (const Lease& each : held) lent -= each.bytes();
  };
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  }
  EXPECT_EQ(broken, 0);
  EXPECT_GT(granted, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(ledger.used_bytes(), 0U);
  EXPECT_TRUE(ledger.usage().empty());
  EXPECT_GT(ledger.peak_bytes(), kLimit / 2);
  EXPECT_LE(ledger.peak_bytes(), kLimit);
}

TEST(Lease, IsGivenBackOnceThoughMoved) {
  Ledger ledger(100);
  {
    Lease a = ledger.lease("a", 60);
    const Lease b = std::move(a);
    EXPECT_EQ(a.bytes(), 0U);  // NOLINT(bugprone-use-after-move): what a moved-from lease holds
    EXPECT_EQ(b.bytes(), 60U);
    EXPECT_EQ(ledger.used_bytes(), 60U);
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Lease, GivesItsOldShareBackWhenItTakesAnother) {
  Ledger ledger(100);
  Lease a = ledger.lease("a", 60);
  a = ledger.lease("b", 30);
  EXPECT_EQ(a.bytes(), 30U);
  EXPECT_EQ(ledger.used_bytes(), 30U);
  ASSERT_EQ(ledger.usage().size(), 1U);
  EXPECT_EQ(ledger.usage().front().tag, "b");
  a = Lease();
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Lease, MayBeOfNoBytes) {
  Ledger ledger(100);
  {
    const Lease full = ledger.lease("rows", 100);
    const Lease none = ledger.lease("rows", 0);
    EXPECT_EQ(ledger.used_bytes(), 100U);
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
  EXPECT_TRUE(ledger.usage().empty());
}

// The empty one ends last, when its tag holds nothing any more.
TEST(Lease, OfNoBytesMayOutliveTheOthersOfItsTag) {
  Ledger ledger(100);
  {
    const Lease none = ledger.lease("rows", 0);
    const Lease another = ledger.lease("rows", 0);
    const Lease some = ledger.lease("rows", 10);
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
  EXPECT_TRUE(ledger.usage().empty());
}

}  // namespace
}  // namespace plimsoll::memory
