#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "fake_host.h"
#include "memory/usage.h"

namespace plimsoll::memory {
namespace {

// Where the levels of a process come from is tested with the limits: limit_test.cc.
class Cgroup : public testing::Test, protected FakeHost {
 protected:
  std::vector<CgroupMemory> limited() const {
    std::vector<CgroupMemory> found;
    for (const CgroupLevel& level : cgroup_levels(host())) {
      if (auto memory = read_cgroup_memory(level)) found.push_back(*memory);
    }
    return found;
  }
};

TEST_F(Cgroup, ListsItsOwnLevelFirstAndThenThoseAbove) {
  put_cgroup(kV1Mounts + kUnifiedMount, "4:memory:/slurm/job\n0::/session\n");
  put_bytes("sys/fs/cgroup/memory/slurm/job/memory.usage_in_bytes", 1);
  put("sys/fs/cgroup/unified/session/cgroup.procs", "");
  const auto levels = cgroup_levels(host());
  std::vector<std::string> names(levels.size());
  std::transform(levels.begin(), levels.end(), names.begin(), [](const CgroupLevel& level) {
    return std::string(name(level.version)) + " " + level.path;
  });
  EXPECT_EQ(names,
            (std::vector<std::string>{"cgroup v2 /session", "cgroup v2 /", "cgroup v1 /slurm/job",
                                      "cgroup v1 /slurm", "cgroup v1 /"}));
  EXPECT_EQ(levels[2].folder, root_ / "sys/fs/cgroup/memory/slurm/job");
}

TEST_F(Cgroup, OfVersion2LeavesItsFileCacheOutOfWhatItHolds) {
  put_cgroup(kV2Mount, "0::/job\n");
  put_bytes("sys/fs/cgroup/job/memory.max", 8 * kGiB);
  put_bytes("sys/fs/cgroup/job/memory.high", 6 * kGiB);
  put_bytes("sys/fs/cgroup/job/memory.current", 5 * kGiB);
  // "file" counts tmpfs, which cannot be dropped.
  put("sys/fs/cgroup/job/memory.stat",
      "anon 1073741824\nfile 4294967296\nshmem 1073741824\n"
      "inactive_anon 1073741824\ninactive_file 2147483648\nactive_file 1073741824\n");
  const auto groups = limited();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].name, "cgroup v2 /job");
  EXPECT_EQ(groups[0].limit_bytes, 6 * kGiB);
  EXPECT_EQ(groups[0].charged_bytes, 5 * kGiB);
  EXPECT_EQ(groups[0].cache_bytes, 3 * kGiB);
  EXPECT_EQ(groups[0].anon_bytes, kGiB);
  EXPECT_EQ(groups[0].held_bytes(), 2 * kGiB);
  EXPECT_EQ(groups[0].left_bytes(), int64_t{4} * kGiB);
}

TEST_F(Cgroup, OfVersion1IsReadWithTheGroupsBelow) {
  put_cgroup(kV1Mounts, "4:memory:/job\n");
  put_bytes("sys/fs/cgroup/memory/job/memory.limit_in_bytes", 4 * kGiB);
  put_bytes("sys/fs/cgroup/memory/job/memory.usage_in_bytes", 3 * kGiB);
  put("sys/fs/cgroup/memory/job/memory.stat",
      "cache 7\nrss 7\ninactive_file 7\nactive_file 7\n"
      "total_cache 2147483648\ntotal_rss 1073741824\ntotal_shmem 1073741824\n"
      "total_inactive_file 536870912\ntotal_active_file 536870912\n");
  const auto groups = limited();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].anon_bytes, kGiB);
  EXPECT_EQ(groups[0].cache_bytes, kGiB);
  EXPECT_EQ(groups[0].left_bytes(), int64_t{2} * kGiB);
}

TEST_F(Cgroup, IsLeftOutWhereNothingLimitsIt) {
  put_cgroup(kV2Mount, "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  put("sys/fs/cgroup/a/b/memory.high", "max\n");
  put_bytes("sys/fs/cgroup/a/b/memory.current", kGiB);
  put_bytes("sys/fs/cgroup/a/memory.max", 2 * kGiB);
  put_bytes("sys/fs/cgroup/a/memory.current", kGiB);
  const auto groups = limited();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].name, "cgroup v2 /a");
  EXPECT_EQ(groups[0].left_bytes(), int64_t{1} * kGiB) << "without memory.stat nothing is cache";
}

TEST_F(Cgroup, HasLessThanNothingLeftUnderALoweredLimit) {
  put_cgroup(kV2Mount, "0::/job\n");
  put_bytes("sys/fs/cgroup/job/memory.high", kGiB);
  put_bytes("sys/fs/cgroup/job/memory.current", 3 * kGiB);
  put("sys/fs/cgroup/job/memory.stat", "anon 3221225472\n");
  EXPECT_EQ(limited().at(0).left_bytes(), -int64_t{2} * kGiB);
}

// The counters behind memory.stat lag a little.
TEST_F(Cgroup, NeverHoldsLessThanNothing) {
  put_cgroup(kV2Mount, "0::/job\n");
  put_bytes("sys/fs/cgroup/job/memory.max", kGiB);
  put_bytes("sys/fs/cgroup/job/memory.current", kMiB);
  put("sys/fs/cgroup/job/memory.stat", "inactive_file 2097152\n");
  EXPECT_EQ(limited().at(0).held_bytes(), 0U);
}

}  // namespace
}  // namespace plimsoll::memory
