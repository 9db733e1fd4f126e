#include "memory/pressure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "child_cgroup.h"
#include "fake_host.h"
#include "memory/usage.h"

namespace plimsoll::memory {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Signed, as rooms are.
constexpr int64_t kMib = kMiB;
constexpr int64_t kGib = kGiB;

class ReadPressure : public testing::Test, protected FakeHost {};

TEST_F(ReadPressure, ReadsTheHostTheProcessAndItsCgroupV2) {
  put("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:  300 kB\n");
  put("proc/self/status", "Name:\tx\nVmHWM:\t  70 kB\nVmRSS:\t  60 kB\n");
  put("proc/pressure/memory",
      "some avg10=1.00 avg60=0.00 avg300=0.00 total=111\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
  put_cgroup(kV2Mount, "0::/slice/job\n");
  put("sys/fs/cgroup/slice/job/cgroup.type", "domain\n");
  put("sys/fs/cgroup/slice/job/memory.pressure", "some avg10=0.00 total=222\nfull total=9\n");
  put("sys/fs/cgroup/slice/job/memory.max", "max\n");
  put_bytes("sys/fs/cgroup/slice/job/memory.high", 500);
  put_bytes("sys/fs/cgroup/slice/job/memory.current", 400);
  put("sys/fs/cgroup/slice/job/memory.stat", "anon 100\ninactive_file 40\nactive_file 60\n");
  put_bytes("sys/fs/cgroup/slice/memory.max", 900);
  put_bytes("sys/fs/cgroup/slice/memory.current", 800);
  const PressureReading reading = read_pressure(host());
  EXPECT_EQ(reading.resident_bytes, 60 * kKiB);
  EXPECT_EQ(reading.host_total_bytes, 1000 * kKiB);
  EXPECT_EQ(reading.host_available_bytes, 300 * kKiB);
  EXPECT_EQ(reading.group_stall_us, 222U);
  EXPECT_EQ(reading.host_stall_us, 111U);
  ASSERT_EQ(reading.groups.size(), 2U);
  EXPECT_EQ(reading.groups[0].left_bytes(), 200);
  EXPECT_EQ(reading.groups[1].left_bytes(), 100);
}

TEST_F(ReadPressure, ReadsCgroupV1WhichHasNoStalls) {
  put_cgroup(kV1Mounts + kUnifiedMount, "4:memory:/job\n0::/\n");
  put("sys/fs/cgroup/unified/memory.pressure", "some avg10=0.00 total=5\n");  // the host's own
  put_bytes("sys/fs/cgroup/memory/job/memory.limit_in_bytes", 900);
  put_bytes("sys/fs/cgroup/memory/job/memory.usage_in_bytes", 800);
  put("sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 100\ntotal_active_file 200\n");
  const PressureReading reading = read_pressure(host());
  EXPECT_EQ(reading.group_stall_us, std::nullopt);
  ASSERT_EQ(reading.groups.size(), 1U);
  EXPECT_EQ(reading.groups[0].left_bytes(), 400);
}

TEST_F(ReadPressure, LeavesOutWhatTheKernelDoesNotSay) {
  put("proc/meminfo", "MemTotal:  1000 kB\n");
  const PressureReading reading = read_pressure(host());
  EXPECT_EQ(reading.resident_bytes, std::nullopt);
  EXPECT_EQ(reading.host_total_bytes, 1000 * kKiB);
  EXPECT_EQ(reading.host_available_bytes, std::nullopt);
  EXPECT_EQ(reading.group_stall_us, std::nullopt);
  EXPECT_EQ(reading.host_stall_us, std::nullopt);
  EXPECT_TRUE(reading.groups.empty());
  EXPECT_EQ(PressurePolicy().room(reading, 0), 0);
}

TEST(ReadPressureOfTheRealKernel, IsThatOfThisMachine) {
  const PressureReading reading = read_pressure();
  EXPECT_GT(reading.resident_bytes.value_or(0), 512 * kKiB);
  EXPECT_GT(reading.host_total_bytes.value_or(0), 64 * kMiB);
  EXPECT_LT(reading.host_available_bytes.value_or(~uint64_t{0}), *reading.host_total_bytes);
}

CgroupMemory group(int64_t limit_bytes, int64_t held_bytes, int64_t cache_bytes = 0) {
  return {.name = "cgroup v2 /job",
          .limit_bytes = static_cast<uint64_t>(limit_bytes),
          .charged_bytes = static_cast<uint64_t>(held_bytes + cache_bytes),
          .cache_bytes = static_cast<uint64_t>(cache_bytes)};
}

constexpr auto kHostReserve = static_cast<int64_t>(0.03 * 64 * static_cast<double>(kGib));

// A process of 8 GiB on a host of 64 GiB, half of it free.
PressureReading calm_reading() {
  return {.resident_bytes = 8 * kGiB,
          .host_total_bytes = 64 * kGiB,
          .host_available_bytes = 32 * kGiB,
          .group_stall_us = {},
          .host_stall_us = 0};
}

PressureReading with_available(int64_t bytes) {
  PressureReading reading = calm_reading();
  reading.host_available_bytes = static_cast<uint64_t>(bytes);
  return reading;
}

PressureReading with_group(const CgroupMemory& group) {
  PressureReading reading = calm_reading();
  reading.groups = {group};
  return reading;
}

// The first reading decides on its figures alone: a shortage has no time to wait for a second.
TEST(PressurePolicy, AsksBackWhatTheTightestBoundLacks) {
  struct Situation {
    std::string what;
    PressureReading reading;
    int64_t room_bytes = 0;
  };
  PressureReading no_host;
  no_host.resident_bytes = 8 * kGiB;
  no_host.groups = {group(16 * kGib, 16 * kGib)};
  PressureReading two_levels = with_group(group(16 * kGib, 8 * kGib));
  two_levels.groups.push_back(group(32 * kGib, 32 * kGib - 10 * kMib));
  PressureReading small_host = calm_reading();
  small_host.host_total_bytes = 4 * kGiB;
  small_host.host_available_bytes = 100 * kMiB;
  const std::vector<Situation> situations = {
      {"no cgroup, half of the host free", calm_reading(), 0},
      {"a neighbour took the host down to its reserve", with_available(kHostReserve), 0},
      {"a neighbour took 1 GiB of the reserve", with_available(kHostReserve - kGib),
       -(kGib + kHostReserve / 2)},
      {"a neighbour took all", with_available(0), -(kHostReserve + kHostReserve / 2)},
      {"a small host keeps 256 MiB", small_host, -(256 + 128 - 100) * kMib},
      {"a cgroup with room", with_group(group(16 * kGib, 8 * kGib)), 0},
      {"a cgroup at its reserve", with_group(group(16 * kGib, 16 * kGib - 64 * kMib)), 0},
      {"a cgroup 4 MiB below", with_group(group(16 * kGib, 16 * kGib - 60 * kMib)), -36 * kMib},
      {"memory.high lowered below what is held", with_group(group(4 * kGib, 7 * kGib)),
       -(3 * kGib + 96 * kMib)},
      {"lowered below all that this process has", with_group(group(kGib, 30 * kGib)), -8 * kGib},
      {"a small cgroup keeps 8 MiB", with_group(group(128 * kMib, 121 * kMib)), -5 * kMib},
      {"a cgroup of 1 GiB keeps 32 MiB", with_group(group(kGib, kGib - 31 * kMib)), -17 * kMib},
      {"a cgroup full of cache", with_group(group(16 * kGib, 8 * kGib, 8 * kGib)), 0},
      {"a level above is the tightest", two_levels, -86 * kMib},
      {"a host that says nothing", no_host, -96 * kMib},
      {"nothing known at all", {}, 0},
  };
  for (const Situation& situation : situations) {
    EXPECT_EQ(PressurePolicy().room(situation.reading, 0), situation.room_bytes) << situation.what;
  }
}

TEST(PressurePolicy, AsksForAllThatLacksWhereItsOwnSizeIsUnknown) {
  PressureReading reading = with_group(group(kGib, 30 * kGib));
  reading.resident_bytes.reset();
  EXPECT_EQ(PressurePolicy().room(reading, 0), -(29 * kGib + 48 * kMib));
}

constexpr double kSeconds = 0.2;

// A policy, fed a reading every 200 ms.
class Pace {
 public:
  explicit Pace(PressureOptions options = {}) : policy_(options) {}

  int64_t next(PressureReading reading, double stalled_share = 0) {
    stall_us_ += static_cast<uint64_t>(stalled_share * kSeconds * 1e6);
    if (own_stalls) reading.group_stall_us = stall_us_;
    if (host_stalls) reading.host_stall_us = stall_us_;
    if (!host_stalls) reading.host_stall_us.reset();
    const double seconds = first_ ? 0 : kSeconds;
    first_ = false;
    return policy_.room(reading, seconds);
  }
  // The first answer that is not zero, and when it came.
  struct Answer {
    int64_t room_bytes = 0;
    double seconds = 0;
  };
  Answer wait(const PressureReading& reading, double at_most_seconds, double stalled_share = 0) {
    for (int i = 1; i * kSeconds <= at_most_seconds; ++i) {
      const int64_t room = next(reading, stalled_share);
      if (room != 0) return {.room_bytes = room, .seconds = i * kSeconds};
    }
    return {};
  }

  bool own_stalls = false;
  bool host_stalls = true;

 private:
  PressurePolicy policy_;
  uint64_t stall_us_ = 1'000'000;
  bool first_ = true;
};

TEST(PressurePolicy, OffersHalfOfWhatIsToSpareAfterTenCalmSecondsAndThenAgain) {
  Pace pace;
  EXPECT_EQ(pace.next(with_available(kHostReserve - kGib)), -(kGib + kHostReserve / 2));
  auto answer = pace.wait(calm_reading(), 60);
  EXPECT_EQ(answer.room_bytes, (32 * kGib - 2 * kHostReserve) / 2);
  EXPECT_NEAR(answer.seconds, 10, 0.3);
  answer = pace.wait(with_available(20 * kGib), 60);
  EXPECT_EQ(answer.room_bytes, (20 * kGib - 2 * kHostReserve) / 2);
  EXPECT_NEAR(answer.seconds, 10, 0.3);
}

TEST(PressurePolicy, OffersNoMoreThanTheTightestBoundHasToSpare) {
  EXPECT_EQ(Pace().wait(with_group(group(16 * kGib, 12 * kGib)), 60).room_bytes,
            (4 * kGib - 128 * kMib) / 2);
}

TEST(PressurePolicy, OffersByTheLeastThatWasToSpareInTheCalm) {
  Pace pace;
  pace.next(calm_reading());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pace.next(calm_reading()), 0);
  EXPECT_EQ(pace.next(with_available(10 * kGib)), 0);
  EXPECT_EQ(pace.wait(calm_reading(), 60).room_bytes, (10 * kGib - 2 * kHostReserve) / 2);
}

TEST(PressurePolicy, StaysWhereItIsBetweenOneReserveAndTwo) {
  Pace pace;
  for (int i = 0; i < 1000; ++i) {
    const int64_t breath = (i % 2 == 0 ? 1 : -1) * kHostReserve / 3;
    ASSERT_EQ(pace.next(with_available(kHostReserve + kHostReserve / 2 + breath)), 0) << i;
  }
}

TEST(PressurePolicy, DoesNotOfferATrifle) {
  EXPECT_EQ(Pace().wait(with_available(2 * kHostReserve + 30 * kMib), 60).room_bytes, 0);
  EXPECT_NE(Pace().wait(with_available(2 * kHostReserve + 34 * kMib), 60).room_bytes, 0);
}

// Lines that follow every answer: a neighbour comes and goes, and they settle after each.
TEST(PressurePolicy, LetsLinesSettle) {
  Pace pace;
  int64_t lines = 8 * kGib;
  const auto follow = [&](int64_t neighbour, double seconds) {
    int moves = 0;
    for (int i = 0; i * kSeconds < seconds; ++i) {
      PressureReading reading = with_available(64 * kGib - neighbour - lines);
      reading.resident_bytes = static_cast<uint64_t>(lines);
      const int64_t room = pace.next(reading);
      lines += std::min(room, 8 * kGib - lines);
      if (room < 0) ++moves;
    }
    return moves;
  };
  EXPECT_EQ(follow(30 * kGib, 60), 0);
  EXPECT_EQ(lines, 8 * kGib);
  EXPECT_EQ(follow(58 * kGib, 60), 1);
  EXPECT_NEAR(static_cast<double>(lines), 6.0 * kGib - 1.5 * kHostReserve, kMib);
  EXPECT_EQ(follow(30 * kGib, 60), 0);
  EXPECT_EQ(lines, 8 * kGib);
}

TEST(PressurePolicy, AsksForAPartBackWhereTasksStallThoughAReserveIsFree) {
  for (const bool own : {true, false}) {
    Pace pace;
    pace.own_stalls = own;
    pace.host_stalls = !own;
    pace.next(with_available(10 * kGib));
    const auto answer = pace.wait(with_available(10 * kGib), 10, 0.20);
    EXPECT_NEAR(static_cast<double>(answer.room_bytes), -0.05 * 8 * kGib, kMib) << own;
    EXPECT_NEAR(answer.seconds, 0.6, 0.01);
    // Half a second to see whether that was enough.
    EXPECT_NEAR(pace.wait(with_available(10 * kGib), 10, 0.20).seconds, 0.6, 0.01);
  }
}

TEST(PressurePolicy, TakesShortOrSmallStallsForNothing) {
  Pace pace;
  pace.next(with_available(10 * kGib));
  EXPECT_EQ(pace.wait(with_available(10 * kGib), 5, 0.09).room_bytes, 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(pace.next(with_available(10 * kGib), 0.9), 0);
    EXPECT_EQ(pace.next(with_available(10 * kGib), 0.9), 0);
    EXPECT_EQ(pace.next(with_available(10 * kGib), 0), 0);
  }
}

// A neighbour that is short within its own cgroup, or a stream of files through the page cache.
TEST(PressurePolicy, TakesStallsForSomebodyElsesWhereMuchIsLeft) {
  Pace host;
  host.next(calm_reading());
  EXPECT_GT(host.wait(calm_reading(), 60, 1.0).room_bytes, 0);
  Pace own;
  own.own_stalls = true;
  const PressureReading cached = with_group(group(16 * kGib, 8 * kGib, 8 * kGib));
  own.next(cached);
  EXPECT_GT(own.wait(cached, 60, 0.15).room_bytes, 0);
}

TEST(PressurePolicy, BelievesItsOwnCgroupsStallsBeforeTheHosts) {
  PressurePolicy policy;
  PressureReading reading = with_available(10 * kGib);
  reading.group_stall_us = 7;
  for (int i = 0; i < 40; ++i) {
    *reading.host_stall_us += 200'000;
    EXPECT_EQ(policy.room(reading, kSeconds), 0);
  }
}

TEST(PressurePolicy, WaitsLongerAfterAStall) {
  Pace pace;
  pace.next(with_available(10 * kGib));
  EXPECT_LT(pace.wait(with_available(10 * kGib), 10, 0.5).room_bytes, 0);
  auto answer = pace.wait(with_available(10 * kGib), 100);
  EXPECT_GT(answer.room_bytes, 0);
  EXPECT_NEAR(answer.seconds, 60, 0.3);
  answer = pace.wait(with_available(10 * kGib), 100);
  EXPECT_NEAR(answer.seconds, 10, 0.3);
}

TEST(PressurePolicy, WorksWithoutStallFigures) {
  Pace pace;
  pace.host_stalls = false;
  pace.next(calm_reading());
  EXPECT_LT(pace.next(with_available(kGib)), 0);
  EXPECT_GT(pace.wait(calm_reading(), 60).room_bytes, 0);
}

// As after a move to another cgroup.
TEST(PressurePolicy, TakesACounterThatWentBackForNoStall) {
  PressurePolicy policy;
  PressureReading reading = with_available(10 * kGib);
  for (uint64_t us = 1'000'000; us > 0; us -= 100'000) {
    reading.host_stall_us = us;
    EXPECT_EQ(policy.room(reading, kSeconds), 0);
  }
}

class PressureWatchOfAHost : public testing::Test, protected FakeHost {
 protected:
  PressureWatchOfAHost() { put_available_kib(32 << 20); }
  // Another name first: the watch must not see half a file.
  void put_available_kib(uint64_t kib) {
    put("proc/new", "MemTotal: 67108864 kB\nMemAvailable: " + std::to_string(kib) + " kB\n");
    std::filesystem::rename(root_ / "proc/new", root_ / "proc/meminfo");
  }
};

TEST_F(PressureWatchOfAHost, CallsBackWithinASecondWhenMemoryGetsTight) {
  std::counting_semaphore<> calls(0);
  std::atomic<int64_t> room = 0;
  const PressureWatch watch(
      [&](int64_t bytes) {
        room = bytes;
        calls.release();
      },
      {}, host());
  EXPECT_FALSE(calls.try_acquire_for(500ms)) << "nothing has happened yet";
  put_available_kib(1 << 20);
  EXPECT_TRUE(calls.try_acquire_for(1s));
  EXPECT_EQ(room, kGib - kHostReserve - kHostReserve / 2);
}

TEST_F(PressureWatchOfAHost, KeepsWhatItsCallbackThrew) {
  std::binary_semaphore called(0);
  put_available_kib(0);
  const PressureWatch watch(
      [&](int64_t) {
        called.release();
        throw std::runtime_error("cannot lower the lines");
      },
      {}, host());
  ASSERT_TRUE(called.try_acquire_for(10s));
  for (const auto end = Clock::now() + 10s; Clock::now() < end;) {
    try {
      watch.rethrow_failure();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "cannot lower the lines");
      return;
    }
    std::this_thread::sleep_for(1ms);
  }
  ADD_FAILURE() << "nothing was thrown";
}

// 192 MiB for this process and a neighbour, of which 32 are kept free.
TEST(PressureWatchOfTheRealKernel, MakesRoomForANeighbourInItsCgroupAndTakesItBack) {
  std::string why_not;
  const auto cgroup = ChildCgroup::enter(192 * kMiB, why_not);
  if (!cgroup) GTEST_SKIP() << why_not;
  PressureOptions options;
  options.group_reserve_least_bytes = options.group_reserve_most_bytes = 32 * kMiB;
  options.calm_seconds = 0.5;
  auto neighbour = std::make_unique<Neighbour>();  // first: a fork shares the pages it finds
  ResidentPages lines(64 * kMiB);

  std::counting_semaphore<> lowered(0);
  std::counting_semaphore<> offered(0);
  const PressureWatch watch(
      [&](int64_t room_bytes) {
        if (room_bytes < 0) lines.give_back(static_cast<uint64_t>(-room_bytes));
        (room_bytes < 0 ? lowered : offered).release();
      },
      options);
  EXPECT_FALSE(lowered.try_acquire_for(500ms)) << "nothing has happened yet";

  const auto before = cgroup_usage();
  ASSERT_TRUE(before);
  neighbour->take(static_cast<uint64_t>(before->left_bytes()) - 16 * kMiB);
  ASSERT_TRUE(lowered.try_acquire_for(1s));
  EXPECT_GE(cgroup_usage()->left_bytes(), 31 * kMib);

  while (offered.try_acquire()) continue;
  neighbour.reset();
  EXPECT_TRUE(offered.try_acquire_for(5s));
}

}  // namespace
}  // namespace plimsoll::memory
