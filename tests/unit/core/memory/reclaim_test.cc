// A ledger that asks others for memory before it refuses a lease, and leases that change their
// size.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "memory/ledger.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

// Holds memory that it can do without, and remembers what it was asked for.
class Hoard {
 public:
  Hoard(Ledger& ledger, const std::string& tag, uint64_t bytes, uint64_t step = 1)
      : lease_(ledger.lease(tag, bytes)),
        step_(step),
        reclaimer_(ledger.on_shortage([this](uint64_t wanted) { give(wanted); })) {}

  uint64_t bytes() const { return lease_.bytes(); }
  std::vector<uint64_t> asked;

 private:
  void give(uint64_t wanted) {
    asked.push_back(wanted);
    const uint64_t given = std::min(lease_.bytes(), (wanted + step_ - 1) / step_ * step_);
    lease_.shrink(lease_.bytes() - given);
  }

  Lease lease_;
  uint64_t step_;
  Ledger::Reclaimer reclaimer_;
};

using Asked = std::vector<uint64_t>;

TEST(Reclaim, AsksInOrderAndForWhatIsMissing) {
  Ledger ledger(100);
  Hoard first(ledger, "first", 30);
  Hoard second(ledger, "second", 40);
  Hoard third(ledger, "third", 20);
  const Lease a = ledger.lease("a", 10);
  EXPECT_EQ(first.asked, Asked()) << "there was room";
  const Lease b = ledger.lease("b", 10);
  EXPECT_EQ(first.asked, Asked({10}));
  EXPECT_EQ(second.asked, Asked());
  EXPECT_EQ(first.bytes(), 20U);
  const Lease c = ledger.lease("c", 50);  // 20 of the first, 30 of the second
  EXPECT_EQ(first.asked, Asked({10, 50}));
  EXPECT_EQ(second.asked, Asked({30}));
  EXPECT_EQ(third.asked, Asked());
  EXPECT_EQ(second.bytes(), 10U);
  EXPECT_EQ(ledger.used_bytes(), 100U);
  EXPECT_EQ(ledger.peak_bytes(), 100U);
}

TEST(Reclaim, TakesNoMoreThanWhatSomebodyGaveTooMuchOf) {
  Ledger ledger(100);
  Hoard coarse(ledger, "coarse", 60, 25);
  Hoard other(ledger, "other", 40);
  const Lease a = ledger.lease("a", 10);
  const Lease b = ledger.lease("b", 15);
  EXPECT_EQ(coarse.asked, Asked({10}));
  EXPECT_EQ(other.asked, Asked());
  EXPECT_EQ(ledger.used_bytes(), 100U);
}

TEST(Reclaim, RefusesWhatAllOfThemTogetherHaveNotGot) {
  Ledger ledger(100);
  Hoard first(ledger, "first", 30);
  Hoard second(ledger, "second", 20);
  const Lease kept = ledger.lease("kept", 40);
  EXPECT_FALSE(ledger.try_lease("a", 61));
  EXPECT_EQ(first.asked, Asked({51}));
  EXPECT_EQ(second.asked, Asked({21}));
  expect_error(ErrorKind::memory, {"rows need 61 B", "60 B left of 100 B", "kept 40 B"},
               [&] { ledger.lease("rows", 61); });
  EXPECT_TRUE(ledger.try_lease("a", 60));
}

TEST(Reclaim, AsksNobodyForWhatCanNeverFit) {
  Ledger ledger(100);
  Hoard hoard(ledger, "hoard", 50);
  EXPECT_FALSE(ledger.try_lease("a", 101));
  EXPECT_FALSE(ledger.try_lease("a", UINT64_MAX));
  EXPECT_EQ(hoard.asked, Asked());
  EXPECT_EQ(hoard.bytes(), 50U);
}

TEST(Reclaim, AsksNobodyForALeaseToSpare) {
  Ledger ledger(100);
  Hoard hoard(ledger, "hoard", 50);
  EXPECT_FALSE(ledger.lease_spare("a", 51));
  EXPECT_EQ(hoard.asked, Asked());
  const auto lease = ledger.lease_spare("a", 50);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->bytes(), 50U);
  EXPECT_FALSE(ledger.lease_spare("a", 1));
  EXPECT_TRUE(ledger.lease_spare("a", 0));
  EXPECT_EQ(hoard.asked, Asked());
}

TEST(Reclaim, AsksWhoeverIsStillThere) {
  Ledger ledger(100);
  int first = 0;
  int second = 0;
  Ledger::Reclaimer kept;
  {
    const auto gone = ledger.on_shortage([&](uint64_t) { ++first; });
    auto moved = ledger.on_shortage([&](uint64_t) { ++second; });
    kept = std::move(moved);
    EXPECT_FALSE(ledger.lease_spare("a", 101));
    const Lease all = ledger.lease("all", 100);
    EXPECT_FALSE(ledger.try_lease("a", 1));
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
  }
  const Lease all = ledger.lease("all", 100);
  EXPECT_FALSE(ledger.try_lease("a", 1));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  kept = Ledger::Reclaimer();
  EXPECT_FALSE(ledger.try_lease("a", 1));
  EXPECT_EQ(second, 2);
}

TEST(Reclaim, BringsWhatIsLentBelowALowerLimit) {
  Ledger ledger(100);
  Hoard hoard(ledger, "hoard", 60);
  std::optional<Lease> kept = ledger.lease("kept", 30);
  ledger.set_limit(95);
  EXPECT_EQ(hoard.asked, Asked());
  ledger.set_limit(70);
  EXPECT_EQ(hoard.asked, Asked({20}));
  EXPECT_EQ(ledger.used_bytes(), 70U);
  EXPECT_EQ(ledger.limit_bytes(), 70U);
  EXPECT_EQ(ledger.available_bytes(), 0U);
}

TEST(Reclaim, LeavesWhatCannotBeGivenBackAndRefusesAllElse) {
  Ledger ledger(100);
  Hoard hoard(ledger, "hoard", 60);
  std::optional<Lease> kept = ledger.lease("kept", 30);
  ledger.set_limit(20);
  EXPECT_EQ(hoard.bytes(), 0U);
  EXPECT_EQ(ledger.used_bytes(), 30U);
  EXPECT_EQ(ledger.available_bytes(), 0U);
  EXPECT_FALSE(ledger.try_lease("a", 1));
  EXPECT_FALSE(ledger.lease_spare("a", 1));
  EXPECT_FALSE(ledger.lease_spare("a", 0));
  kept.reset();
  EXPECT_EQ(ledger.available_bytes(), 20U);
  EXPECT_TRUE(ledger.try_lease("a", 20));
  ledger.set_limit(200);
  EXPECT_TRUE(ledger.try_lease("a", 200));
}

// What one thread's asking set free may go to another: whoever needs it asks again, as long as
// there is somebody who has some.
TEST(Reclaim, RefusesNobodyWhileThereIsSomethingToGive) {
  constexpr uint64_t kLimit = 1000;
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kMost = kLimit / kThreads;
  Ledger ledger(kLimit);
  std::mutex mutex;  // of what follows
  Lease cache;
  const auto reclaimer = ledger.on_shortage([&](uint64_t bytes) {
    const std::lock_guard lock(mutex);
    cache.shrink(cache.bytes() > bytes ? cache.bytes() - bytes : 0);
  });
  std::atomic<bool> done = false;
  std::atomic<int> refused = 0;
  std::jthread filling([&] {
    while (!done) {
      if (auto more = ledger.lease_spare("cache", 7)) {
        const std::lock_guard lock(mutex);
        cache.merge(std::move(*more));
      }
    }
  });
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const RandomStream random(3, t);
        for (uint64_t i = 0; i < 3000; ++i) {
          if (!ledger.try_lease("work", 1 + below(random.at(i), kMost - 7))) ++refused;
        }
      });
    }
  }
  done = true;
  filling.join();
  EXPECT_EQ(refused, 0);
  EXPECT_LE(ledger.peak_bytes(), kLimit);
  cache = Lease();
  EXPECT_EQ(ledger.used_bytes(), 0U);
  EXPECT_TRUE(ledger.usage().empty());
}

TEST(Lease, GivesAPartBackWhenItShrinks) {
  Ledger ledger(100);
  Lease lease = ledger.lease("a", 60);
  const Lease other = ledger.lease("a", 10);
  lease.shrink(60);
  lease.shrink(80);
  EXPECT_EQ(lease.bytes(), 60U);
  lease.shrink(25);
  EXPECT_EQ(lease.bytes(), 25U);
  EXPECT_EQ(ledger.used_bytes(), 35U);
  ASSERT_EQ(ledger.usage().size(), 1U);
  EXPECT_EQ(ledger.usage().front().bytes, 35U);
  EXPECT_EQ(ledger.peak_bytes(), 70U);
}

// As a line does that goes down to nothing and up again.
TEST(Lease, MayShrinkToNothingAndGrowAgain) {
  Ledger ledger(100);
  {
    Lease lease;
    lease.shrink(0);
    for (int round = 0; round < 3; ++round) {
      lease.merge(ledger.lease("a", 40));
      lease.merge(ledger.lease("a", 20));
      EXPECT_EQ(lease.bytes(), 60U);
      EXPECT_EQ(ledger.used_bytes(), 60U);
      lease.shrink(0);
      EXPECT_EQ(lease.bytes(), 0U);
      EXPECT_EQ(ledger.used_bytes(), 0U);
      EXPECT_TRUE(ledger.usage().empty());
    }
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
  EXPECT_TRUE(ledger.usage().empty());
}

TEST(Lease, TakesAnotherOver) {
  Ledger ledger(100);
  {
    Lease lease = ledger.lease("a", 10);
    {
      Lease other = ledger.lease("a", 30);
      lease.merge(std::move(other));
      EXPECT_EQ(other.bytes(), 0U);  // NOLINT(bugprone-use-after-move): it holds nothing now
    }
    lease.merge(Lease());
    EXPECT_EQ(lease.bytes(), 40U);
    EXPECT_EQ(ledger.used_bytes(), 40U);
    ASSERT_EQ(ledger.usage().size(), 1U);
    EXPECT_EQ(ledger.usage().front().bytes, 40U);
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
  EXPECT_TRUE(ledger.usage().empty());
}

}  // namespace
}  // namespace plimsoll::memory
