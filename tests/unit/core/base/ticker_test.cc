#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "base/parallel.h"

namespace plimsoll {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(Ticker, RunsAtOnceAndThenAgainAndAgain) {
  std::counting_semaphore<> runs(0);
  const auto start = Clock::now();
  const Ticker ticker(10ms, [&] { runs.release(); });
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(runs.try_acquire_for(10s));
  EXPECT_GE(Clock::now() - start, 40ms);
}

TEST(Ticker, EndsWithoutWaitingForItsNextTime) {
  std::binary_semaphore ran(0);
  auto ticker = std::make_unique<Ticker>(1h, [&] { ran.release(); });
  ASSERT_TRUE(ran.try_acquire_for(10s));
  const auto start = Clock::now();
  ticker.reset();
  EXPECT_LT(Clock::now() - start, 1s);
}

TEST(Ticker, WaitsForTheActionThatRuns) {
  std::binary_semaphore started(0);
  std::atomic<bool> done = false;
  auto ticker = std::make_unique<Ticker>(1h, [&] {
    started.release();
    std::this_thread::sleep_for(50ms);
    done = true;
  });
  ASSERT_TRUE(started.try_acquire_for(10s));
  ticker.reset();
  EXPECT_TRUE(done);
}

TEST(Ticker, KeepsWhatItsActionThrewAndRunsItNoMore) {
  std::atomic<int> runs = 0;
  std::binary_semaphore threw(0);
  const Ticker ticker(1ms, [&] {
    if (++runs < 3) return;
    threw.release();
    throw std::runtime_error("the third time");
  });
  ASSERT_TRUE(threw.try_acquire_for(10s));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(runs, 3);
  for (int i = 0; i < 2; ++i) {
    try {
      ticker.rethrow_failure();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the third time");
    }
  }
}

TEST(Ticker, HasNothingToThrowWhileItsActionDoesNot) {
  std::counting_semaphore<> runs(0);
  const Ticker ticker(1ms, [&] { runs.release(); });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(runs.try_acquire_for(10s));
  EXPECT_NO_THROW(ticker.rethrow_failure());
}

TEST(Ticker, DoesNotMakeUpForTimesThatASlowActionMissed) {
  std::counting_semaphore<> runs(0);
  bool first = true;
  const auto start = Clock::now();
  const Ticker ticker(40ms, [&] {
    if (first) std::this_thread::sleep_for(200ms);
    first = false;
    runs.release();
  });
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(runs.try_acquire_for(10s));
  EXPECT_GE(Clock::now() - start, 280ms);  // 0 to 200, 200, 240, 280
}

}  // namespace
}  // namespace plimsoll
