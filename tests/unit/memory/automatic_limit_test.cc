#include "memory/automatic_limit.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

// A machine whose /proc and /sys are files in a folder.
class AutomaticLimit : public testing::Test {
 protected:
  void put_ram(uint64_t total, const std::string& rest) {
    write_file(root_ / "proc/meminfo",
               "MemTotal: " + std::to_string(total / kKiB) + " kB\n" + rest);
  }
  void put_cgroup(uint64_t bytes) {
    write_file(root_ / "proc/self/mountinfo",
               "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write_file(root_ / "proc/self/cgroup", "0::/job\n");
    write_file(root_ / "sys/fs/cgroup/job/memory.max", std::to_string(bytes) + "\n");
  }
  static std::string available(uint64_t bytes) {
    return "MemAvailable: " + std::to_string(bytes / kKiB) + " kB\n";
  }
  Limit find() const {
    return automatic_limit({.root = root_.path(), .variable = [this](const std::string& name) {
                              const auto entry = variables_.find(name);
                              return entry == variables_.end() ? std::nullopt
                                                               : std::optional(entry->second);
                            }});
  }

  TempFolder root_;
  std::map<std::string, std::string> variables_;
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
  put_cgroup(16 * kGiB);
  EXPECT_EQ(find().bytes, 16 * kGiB);
  EXPECT_EQ(find().winner, "cgroup v2 memory.max of /job");
  variables_ = {{"SLURM_MEM_PER_NODE", "4096"}};
  EXPECT_EQ(find().bytes, 4 * kGiB);
}

TEST_F(AutomaticLimit, IsNotFooledByACgroupAsLargeAsTheMachine) {
  put_ram(100 * kGiB, available(95 * kGiB));
  put_cgroup(98 * kGiB);
  EXPECT_EQ(find().bytes, 90 * kGiB);
  put_ram(100 * kGiB, available(8 * kGiB));
  put_cgroup(16 * kGiB);
  EXPECT_EQ(find().bytes, 8 * kGiB - 256 * kMiB);
}

TEST_F(AutomaticLimit, ReadsTheRealMachine) {
  const Limit limit = automatic_limit();
  EXPECT_LE(limit.bytes, detect_limit().bytes);
}

}  // namespace
}  // namespace plimsoll::memory
