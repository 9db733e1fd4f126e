#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace plimsoll {
namespace {

std::vector<size_t> numbers_below(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

// What the threads of one parallel_ordered call were seen to do.
struct Seen {
  std::atomic<unsigned> workspaces = 0;
  std::atomic<size_t> produced = 0;
  std::vector<size_t> consumed;  // only consume() touches it
};

class ParallelOrdered : public testing::TestWithParam<unsigned> {};

TEST_P(ParallelOrdered, ConsumesInOrderWhateverTheThreads) {
  constexpr size_t kCount = 2000;
  Seen seen;
  const RandomStream delays(3, 4);
  parallel_ordered(
      GetParam(), kCount, [&] { return ++seen.workspaces; },
      [&](unsigned&, size_t i) {
        if (below(delays.at(i), 50) == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        ++seen.produced;
      },
      [&](unsigned&, size_t i) { seen.consumed.push_back(i); });
  EXPECT_EQ(seen.produced, kCount);
  EXPECT_EQ(seen.consumed, numbers_below(kCount));
}

// A workspace that two threads shared would be overwritten while its item waits for its turn.
TEST_P(ParallelOrdered, MakesOneWorkspaceAThreadAndKeepsItForTheItem) {
  constexpr size_t kCount = 500;
  Seen seen;
  size_t mismatches = 0;
  struct Workspace {
    size_t item = 0;
  };
  parallel_ordered(
      GetParam(), kCount,
      [&] {
        ++seen.workspaces;
        return Workspace();
      },
      [](Workspace& workspace, size_t i) { workspace.item = i; },
      [&](Workspace& workspace, size_t i) {
        if (workspace.item != i) ++mismatches;
        seen.consumed.push_back(workspace.item);
      });
  EXPECT_GE(seen.workspaces, 1U);
  EXPECT_LE(seen.workspaces, GetParam());
  EXPECT_EQ(mismatches, 0U);
  EXPECT_EQ(seen.consumed.size(), kCount);
}

TEST_P(ParallelOrdered, StopsAtAFailureToProduce) {
  constexpr size_t kBad = 30;
  Seen seen;
  const auto work = [&] {
    parallel_ordered(
        GetParam(), 1'000'000, [&] { return 0; },
        [&](int&, size_t i) {
          if (i == kBad) throw std::runtime_error("item 30");
          ++seen.produced;
        },
        [&](int&, size_t i) { seen.consumed.push_back(i); });
  };
  EXPECT_THROW(work(), std::runtime_error);
  // Nobody passes the turn of the failed item: each other thread has made one item beyond at most.
  EXPECT_LT(seen.produced, kBad + GetParam());
  EXPECT_LE(seen.consumed.size(), kBad);
  EXPECT_EQ(seen.consumed, numbers_below(seen.consumed.size()));
}

TEST_P(ParallelOrdered, StopsAtAFailureToConsume) {
  constexpr size_t kBad = 30;
  Seen seen;
  const auto work = [&] {
    parallel_ordered(
        GetParam(), 1'000'000, [&] { return 0; }, [&](int&, size_t) { ++seen.produced; },
        [&](int&, size_t i) {
          if (i == kBad) throw std::runtime_error("item 30");
          seen.consumed.push_back(i);
        });
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_LE(seen.produced, kBad + GetParam());
  EXPECT_EQ(seen.consumed, numbers_below(kBad));
}

TEST_P(ParallelOrdered, StopsAtAFailureToMakeAWorkspace) {
  std::atomic<unsigned> made = 0;
  std::vector<size_t> consumed;
  const auto work = [&] {
    parallel_ordered(
        GetParam(), 100,
        [&]() -> int {
          if (++made == GetParam()) throw std::runtime_error("no room");
          return 0;
        },
        [](int&, size_t) {}, [&](int&, size_t i) { consumed.push_back(i); });
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_EQ(consumed, numbers_below(consumed.size()));
}

TEST_P(ParallelOrdered, DoesNothingForNoItems) {
  bool touched = false;
  parallel_ordered(
      GetParam(), 0, [] { return 0; }, [&](int&, size_t) { touched = true; },
      [&](int&, size_t) { touched = true; });
  EXPECT_FALSE(touched);
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelOrdered, testing::Values(1U, 2U, 16U),
                         testing::PrintToStringParamName());

TEST(RunTeam, RunsTheMemberOnceAThreadTheCallerAmongThem) {
  std::mutex mutex;
  std::multiset<std::thread::id> ids;
  run_team(5, [&](Team&) {
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 5U);
  EXPECT_EQ(ids.count(std::this_thread::get_id()), 1U);
}

TEST(RunTeam, RethrowsWhatAWorkerThreadThrew) {
  const auto caller = std::this_thread::get_id();
  const auto work = [&] {
    run_team(3, [&](Team&) {
      if (std::this_thread::get_id() != caller) throw std::out_of_range("from a worker");
    });
  };
  EXPECT_THROW(work(), std::out_of_range);
}

TEST(RunTeam, RethrowsTheFirstOfSeveralFailures) {
  const auto caller = std::this_thread::get_id();
  try {
    run_team(4, [&](Team& team) {
      if (std::this_thread::get_id() == caller) throw std::runtime_error("first");
      while (!team.stopping()) std::this_thread::yield();
      throw std::runtime_error("later");
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
}

TEST(RunTeam, WakesThoseWhoWaitForATurnThatNeverComes) {
  std::atomic<unsigned> refused = 0;
  const auto caller = std::this_thread::get_id();
  const auto work = [&] {
    run_team(4, [&](Team& team) {
      if (std::this_thread::get_id() == caller) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        throw std::runtime_error("no first turn");
      }
      if (!team.wait_for_turn(1)) ++refused;
    });
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_EQ(refused, 3U);
}

TEST(ParallelFor, RunsEveryItemOnce) {
  for (const unsigned threads : {1U, 2U, 16U}) {
    std::vector<std::atomic<int>> runs(1001);
    parallel_for(threads, runs.size(), [&](size_t i) { ++runs[i]; });
    for (size_t i = 0; i < runs.size(); ++i) ASSERT_EQ(runs[i], 1) << i;
  }
}

TEST(ParallelFor, StopsTheOthersAtTheFirstFailure) {
  constexpr size_t kCount = 100'000;  // 25 s of sleep where nobody stops
  std::atomic<size_t> ran = 0;
  const auto work = [&] {
    parallel_for(4, kCount, [&](size_t i) {
      if (i == 0) throw std::runtime_error("item 0");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++ran;
    });
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_LT(ran, kCount / 2);
}

TEST(AvailableThreads, FollowsTheAffinityOfTheProcess) {
  EXPECT_GE(available_threads(), 1U);
  unsigned on_one_cpu = 0;
  int refused = 0;
  std::thread([&] {  // on a thread of its own: affinity belongs to threads
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) ++cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    refused = sched_setaffinity(0, sizeof one, &one);
    on_one_cpu = available_threads();
  })
      .join();
  if (refused != 0) GTEST_SKIP() << "this machine refuses sched_setaffinity";
  EXPECT_EQ(on_one_cpu, 1U);
}

}  // namespace
}  // namespace plimsoll
