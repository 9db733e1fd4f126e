#include <gtest/gtest.h>

#include <string>

#include "base/units.h"
#include "fake_host.h"
#include "memory/limit.h"

namespace plimsoll::memory {
namespace {

class AutomaticLimit : public testing::Test, protected FakeHost {
 protected:
  void put_ram(uint64_t total, const std::string& rest) {
    put("proc/meminfo", "MemTotal: " + std::to_string(total / kKiB) + " kB\n" + rest);
  }
  void put_job(uint64_t bytes) {
    put_cgroup(kV2Mount, "0::/job\n");
    put_bytes("sys/fs/cgroup/job/memory.max", bytes);
  }
  static std::string available(uint64_t bytes) {
    return "MemAvailable: " + std::to_string(bytes / kKiB) + " kB\n";
  }
  Limit find() const { return automatic_limit(host()); }
};

TEST_F(AutomaticLimit, LeavesATenthOfTheRamToTheMachine) {
  put_ram(100 * kGiB, available(99 * kGiB));
  EXPECT_EQ(find().bytes, 90 * kGiB);
  EXPECT_EQ(describe(find()), "90.0 GiB (90 % of RAM; RAM 100.0 GiB)");
  put_ram(100 * kGiB, "");  // a kernel that does not say what is free
  EXPECT_EQ(find().bytes, 90 * kGiB);
}

TEST_F(AutomaticLimit, TakesNoMoreThanIsFree) {
  put_ram(100 * kGiB, available(10 * kGiB));
  EXPECT_EQ(find().bytes, 10 * kGiB - 256 * kMiB);
  EXPECT_EQ(describe(find()), "9.8 GiB (free RAM less 256.0 MiB; RAM 100.0 GiB)");
  put_ram(100 * kGiB, available(100 * kMiB));
  EXPECT_EQ(find().bytes, 0);
}

TEST_F(AutomaticLimit, TakesAllThatACgroupOrSlurmAllows) {
  put_ram(100 * kGiB, available(95 * kGiB));
  put_job(16 * kGiB);
  EXPECT_EQ(find().bytes, 16 * kGiB);
  EXPECT_EQ(find().winner, "cgroup v2 memory.max of /job");
  variables_ = {{"SLURM_MEM_PER_NODE", "4096"}};
  EXPECT_EQ(find().bytes, 4 * kGiB);
}

TEST_F(AutomaticLimit, IsNotFooledByACgroupAsLargeAsTheMachine) {
  put_ram(100 * kGiB, available(95 * kGiB));
  put_job(98 * kGiB);
  EXPECT_EQ(find().bytes, 90 * kGiB);
  put_ram(100 * kGiB, available(8 * kGiB));
  put_job(16 * kGiB);
  EXPECT_EQ(find().bytes, 8 * kGiB - 256 * kMiB);
}

TEST_F(AutomaticLimit, ReadsTheRealMachine) {
  const Limit limit = automatic_limit();
  EXPECT_LE(limit.bytes, detect_limit().bytes);
}

}  // namespace
}  // namespace plimsoll::memory
