#include <gtest/gtest.h>

#include "base/units.h"
#include "energy/baseline.h"
#include "energy/sources.h"
#include "temp_folder.h"

namespace plimsoll::energy {
namespace {

TEST(CpuTime, IsWhatTheKernelCountsLessIdleAndWaiting) {
  const TempFolder root;
  write_file(root / "stat", "cpu  100 20 30 99999 88888 4 5 6 50 60\ncpu0 1 1 1 1\n");
  EXPECT_DOUBLE_EQ(busy_cpu_seconds(root.path()).value_or(0), 1.65);
  EXPECT_FALSE(busy_cpu_seconds(root / "nowhere"));
}

TEST(CpuTime, IsOursAloneOnAMachineThatIsNearlyStill) {
  EXPECT_EQ(cpu_shared_because({.seconds = 10, .own_seconds = 20, .host_seconds = 20.9}), "");
  EXPECT_EQ(cpu_shared_because({.seconds = 10, .own_seconds = 0.1, .host_seconds = 1.0}), "");
  EXPECT_EQ(cpu_shared_because({.seconds = 0.01, .own_seconds = 0, .host_seconds = 0.03}), "");
}

TEST(CpuTime, IsSharedWhenOthersWork) {
  EXPECT_EQ(cpu_shared_because({.seconds = 10, .own_seconds = 10, .host_seconds = 15}),
            "other processes used 5.00 s of CPU time, the run 10.00 s");
  EXPECT_NE(cpu_shared_because({.seconds = 10, .own_seconds = 10, .host_seconds = {}}), "");
}

class NeighboursTest : public testing::Test {
 protected:
  static meter::GpuReading gpu(std::vector<meter::GpuHolder> holders) {
    return {.index = 0,
            .uuid = "GPU-a",
            .name = {},
            .total_bytes = 80 * kGiB,
            .used_bytes = 2 * kGiB,
            .free_bytes = 78 * kGiB,
            .holders = std::move(holders)};
  }
  static bool ours(pid_t pid) { return pid >= 100; }
  Neighbours neighbours_;
};

TEST_F(NeighboursTest, AreNotOurOwnProcesses) {
  neighbours_.look(gpu({{.pid = 100, .start_ticks = 5, .bytes = 2 * kGiB}}), ours);
  EXPECT_EQ(neighbours_.shared_because(), "");
}

TEST_F(NeighboursTest, AreEverybodyElse) {
  neighbours_.look(
      gpu({{.pid = 7, .start_ticks = 5, .user = "ada", .command = "jupyter", .bytes = kGiB}}),
      ours);
  EXPECT_EQ(neighbours_.shared_because(), "GPU 0 was held by jupyter (pid 7, ada, 1.0 GiB)");
}

TEST_F(NeighboursTest, AreSeenByTheirMemoryBeforeWeBegin) {
  neighbours_.look_before(gpu({}), ours);
  EXPECT_EQ(neighbours_.shared_because(),
            "2.0 GiB of GPU 0 were in use before the start, by no process that is listed");
}

TEST_F(NeighboursTest, MayBeOursByAnotherNumberInsideAContainer) {
  const auto inside = gpu(
      {{.pid = 70'001, .bytes = kGiB}, {.pid = 100, .start_ticks = 5, .listed_by_driver = false}});
  neighbours_.look(inside, ours);
  neighbours_.look(inside, ours);
  EXPECT_EQ(neighbours_.shared_because(), "");
  const auto two = gpu({{.pid = 70'001, .bytes = kGiB},
                        {.pid = 70'002, .bytes = kGiB},
                        {.pid = 100, .start_ticks = 5, .listed_by_driver = false}});
  neighbours_.look(two, ours);
  EXPECT_EQ(neighbours_.shared_because(), "") << "it may have just ended";
  neighbours_.look(two, ours);
  EXPECT_NE(neighbours_.shared_because(), "");
}

}  // namespace
}  // namespace plimsoll::energy
