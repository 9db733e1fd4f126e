#include "ranks/activity.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace plimsoll::ranks {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMs = 1'000'000;

class ActivityTest : public testing::Test {
 protected:
  // Half a second after the reading before.
  bool active(const ActivityReading& reading) {
    time_ += milliseconds(500);
    return judge_.active(reading, time_);
  }
  ActivityJudge judge_;
  ActivityJudge::Time time_;
};

TEST_F(ActivityTest, IsAThreadThatComputesOrWaitsForACpu) {
  EXPECT_TRUE(active({.busy_ns = {{7, 100 * kMs}, {8, 0}}}));  // the first one
  EXPECT_TRUE(active({.busy_ns = {{7, 300 * kMs}, {8, 0}}}));
  EXPECT_FALSE(active({.busy_ns = {{7, 300 * kMs}, {8, 0}}}));
  EXPECT_TRUE(active({.busy_ns = {{7, 300 * kMs}, {8, 0}, {9, 200 * kMs}}}));  // it began since
}

TEST_F(ActivityTest, IsNotAThreadThatLooksAfterSomething) {
  EXPECT_TRUE(active({}));
  for (uint64_t i = 1; i < 20; ++i) {
    EXPECT_FALSE(active({.busy_ns = {{7, i * 20 * kMs}, {8, i * 50 * kMs}}}));
  }
}

TEST_F(ActivityTest, IsATransferAFaultOrADiskThatStores) {
  EXPECT_TRUE(active({.transfers = 1, .faults = 1}));
  EXPECT_FALSE(active({.transfers = 1, .faults = 1}));
  EXPECT_TRUE(active({.transfers = 2, .faults = 1}));
  EXPECT_TRUE(active({.transfers = 2, .faults = 2}));
  EXPECT_TRUE(active({.transfers = 2, .faults = 2, .syncing = true}));
  EXPECT_FALSE(active({.transfers = 2, .faults = 2}));
}

TEST_F(ActivityTest, IsCpuTimeIfTheKernelDoesNotCountByThread) {
  EXPECT_TRUE(active({.cpu_ns = 100 * kMs}));
  EXPECT_FALSE(active({.cpu_ns = 101 * kMs}));
  EXPECT_TRUE(active({.cpu_ns = 150 * kMs}));
}

// Only on the side of what it must see: a busy machine may add activity.
TEST(Activity, SeesAnotherThreadCompute) {
  std::atomic<bool> enough = false;
  std::jthread busy([&] {
    while (!enough) {
    }
  });
  ActivityJudge judge;
  judge.active(read_activity(), ActivityJudge::Time::clock::now());
  std::this_thread::sleep_for(milliseconds(300));
  const bool active = judge.active(read_activity(), ActivityJudge::Time::clock::now());
  enough = true;
  EXPECT_TRUE(active);
}

TEST(Activity, DoesNotSeeAThreadThatSleeps) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::jthread sleeper([&](const std::stop_token& stopping) {
    std::unique_lock lock(mutex);
    wake.wait(lock, stopping, [] { return false; });
  });
  ActivityJudge judge;
  // A system that reads pages from its disk at this moment may need another look.
  bool still = false;
  for (int look = 0; look < 100 && !still; ++look) {
    still = !judge.active(read_activity(), ActivityJudge::Time::clock::now());
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_TRUE(still);
}

}  // namespace
}  // namespace plimsoll::ranks
