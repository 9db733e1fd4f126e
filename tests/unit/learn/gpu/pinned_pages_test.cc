#include "gpu/pinned_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/units.h"
#include "fake_driver.h"
#include "memory/growing.h"

namespace plimsoll::gpu {
namespace {

TEST(PinnedPages, ArePinnedWhileTheyAreLeased) {
  FakeDriver driver;
  memory::Ledger ledger(kGiB);
  {
    PinnedPages pages(1, driver.opened);
    EXPECT_EQ(driver.contexts, 1);
    memory::Growing<float> values(ledger, "batches", &pages);
    values.renew(1 << 20);
    EXPECT_GE(pages.pinned_bytes(), uint64_t{4} << 20);
    EXPECT_EQ(pages.pinned_bytes(), driver.pinned_bytes());
    EXPECT_EQ(pages.pinned_bytes(), ledger.used_bytes());
    values[5] = 3;
    values.reserve(3 << 20, 6);  // as it grows, what it had is pinned no more
    EXPECT_EQ(values[5], 3);
    EXPECT_EQ(driver.pinned.size(), 1U);
    EXPECT_EQ(driver.pinned_bytes(), ledger.used_bytes());
    EXPECT_EQ(pages.problem(), "");
  }
  EXPECT_EQ(driver.pinned_bytes(), 0U);
  EXPECT_EQ(driver.contexts, 0);
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(PinnedPages, AreOrdinaryOnesWithoutADriver) {
  cuda::Opened<cuda::DriverFunctions> nothing;
  nothing.missing = "NVIDIA's driver is missing";
  PinnedPages pages(0, nothing);
  EXPECT_EQ(pages.problem(), "NVIDIA's driver is missing");
  void* const data = pages.allocate(1 << 20);
  std::memset(data, 1, 1 << 20);
  EXPECT_EQ(pages.pinned_bytes(), 0U);
  PinnedPages::CopyMark mark(pages);
  EXPECT_TRUE(mark.passed());
  pages.release(data, 1 << 20);
}

TEST(PinnedPages, AreOrdinaryOnesIfTheDriverRefuses) {
  FakeDriver driver;
  driver.init_result = 100;
  EXPECT_EQ(PinnedPages(0, driver.opened).problem(), "NVIDIA's driver cannot use GPU 0: error 100");
  driver.init_result = 0;
  EXPECT_EQ(PinnedPages(7, driver.opened).problem(), "NVIDIA's driver cannot use GPU 7: error 101");
  EXPECT_EQ(driver.contexts, 0);
  PinnedPages pages(0, driver.opened);
  void* const pinned = pages.allocate(1 << 20);
  driver.refuses = 1;
  void* const refused = pages.allocate(2 << 20);
  std::memset(refused, 1, 2 << 20);
  EXPECT_EQ(pages.problem(), "NVIDIA's driver cannot pin 2.0 MiB: out of memory");
  EXPECT_EQ(pages.pinned_bytes(), uint64_t{1} << 20);
  pages.release(refused, 2 << 20);
  pages.release(pinned, 1 << 20);
  EXPECT_EQ(driver.pinned_bytes(), 0U);
}

TEST(PinnedPages, AMarkPassesWhenTheGpuHasDoneWhatItWasAskedForBefore) {
  FakeDriver driver;
  {
    PinnedPages pages(0, driver.opened);
    void* const data = pages.allocate(4096);
    driver.copy();
    PinnedPages::CopyMark first(pages);
    EXPECT_FALSE(first.passed());
    std::jthread gpu([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      driver.finish();
    });
    first.wait();
    EXPECT_TRUE(first.passed());
    gpu.join();
    driver.copy();
    EXPECT_TRUE(first.passed());
    EXPECT_FALSE(PinnedPages::CopyMark(pages).passed());
    pages.release(data, 4096);
  }
  EXPECT_EQ(driver.events, 0);
  EXPECT_EQ(driver.waits, 0);
}

TEST(PinnedPages, AMarkOfAnOlderDriverWaitsForTheGpu) {
  FakeDriver driver;
  driver.opened.functions.record_context = nullptr;
  PinnedPages pages(0, driver.opened);
  void* const data = pages.allocate(4096);
  driver.copy();
  PinnedPages::CopyMark mark(pages);
  EXPECT_EQ(driver.waits, 0);
  EXPECT_TRUE(mark.passed());
  EXPECT_TRUE(mark.passed());
  EXPECT_EQ(driver.waits, 1);
  pages.release(data, 4096);
}

}  // namespace
}  // namespace plimsoll::gpu
