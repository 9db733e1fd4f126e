#include "memory/usage.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/units.h"
#include "child_cgroup.h"
#include "fake_host.h"
#include "memory/buffer.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

constexpr uint64_t kBytes = 96 * kMiB;
constexpr uint64_t kSlack = 16 * kMiB;

TEST(ProcessUsage, IsThatOfAProgramAtWork) {
  const ProcessUsage usage = process_usage();
  EXPECT_GT(usage.resident_bytes, 512 * kKiB);
  EXPECT_LE(usage.resident_bytes, usage.peak_resident_bytes + kSlack);
}

TEST(ProcessUsage, GrowsWithPagesThatAreTouchedOnly) {
  Ledger ledger(kBytes);
  const uint64_t before = process_usage().resident_bytes;
  const Buffer<char> buffer(ledger, "rows", kBytes);
  EXPECT_LE(process_usage().resident_bytes, before + kSlack);
  std::fill(buffer.begin(), buffer.end(), '\1');
  EXPECT_GE(process_usage().resident_bytes + kSlack, before + kBytes);
}

TEST(ProcessUsage, RemembersThePeak) {
  Ledger ledger(2 * kBytes);
  uint64_t at_most = 0;
  {
    const Buffer<char> buffer(ledger, "rows", 2 * kBytes);
    std::fill(buffer.begin(), buffer.end(), '\1');
    at_most = process_usage().resident_bytes;
  }
  const ProcessUsage after = process_usage();
  EXPECT_GE(after.peak_resident_bytes + kSlack, at_most);
  EXPECT_GE(after.peak_resident_bytes, after.resident_bytes + kBytes);
}

class CgroupUsage : public testing::Test, protected FakeHost {
 protected:
  void put_level(const std::string& path, uint64_t limit_bytes, uint64_t held_bytes) {
    put_bytes("sys/fs/cgroup" + path + "/memory.max", limit_bytes);
    put_bytes("sys/fs/cgroup" + path + "/memory.current", held_bytes + kGiB);
    put("sys/fs/cgroup" + path + "/memory.stat", "inactive_file 1073741824\n");
  }
};

TEST_F(CgroupUsage, IsThatOfTheLevelWithTheLeastLeft) {
  put_cgroup(kV2Mount, "0::/slice/job\n");
  put_level("/slice", 16 * kGiB, 15 * kGiB);
  put_level("/slice/job", 8 * kGiB, 3 * kGiB);
  auto usage = cgroup_usage(host());
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->name, "cgroup v2 /slice");
  EXPECT_EQ(usage->held_bytes(), 15 * kGiB);
  put_level("/slice/job", 8 * kGiB, 7 * kGiB + kMiB);
  usage = cgroup_usage(host());
  EXPECT_EQ(usage->name, "cgroup v2 /slice/job");
  EXPECT_EQ(usage->held_bytes(), 7 * kGiB + kMiB);
}

TEST_F(CgroupUsage, IsUnknownWhereNoCgroupHasALimit) {
  EXPECT_EQ(cgroup_usage(host()), std::nullopt);
  put_cgroup(kV2Mount, "0::/job\n");
  put("sys/fs/cgroup/job/memory.max", "max\n");
  put_bytes("sys/fs/cgroup/job/memory.current", kGiB);
  EXPECT_EQ(cgroup_usage(host()), std::nullopt);
}

TEST(CgroupUsageOfTheRealKernel, CountsMemoryAndKeepsTheCacheOfFilesApart) {
  std::string why_not;
  const auto group = ChildCgroup::enter(256 * kMiB, why_not);
  if (!group) GTEST_SKIP() << why_not;
  const auto empty = cgroup_usage();
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->limit_bytes, 256 * kMiB);
  const ResidentPages pages(kBytes);
  const auto full = cgroup_usage();
  EXPECT_NEAR(static_cast<double>(full->held_bytes()),
              static_cast<double>(empty->held_bytes() + kBytes), kSlack);
  EXPECT_NEAR(static_cast<double>(full->anon_bytes),
              static_cast<double>(empty->anon_bytes + kBytes), kSlack);

  struct statfs disk = {};
  ASSERT_EQ(::statfs(".", &disk), 0);
  if (disk.f_type == TMPFS_MAGIC) GTEST_SKIP() << "files in this folder are memory, not cache";
  const TempFolder folder(std::filesystem::current_path());
  std::ofstream file(folder / "file");
  const std::string part(kMiB, 'x');
  for (int i = 0; i < 48; ++i) file << part;
  file.close();
  const auto cached = cgroup_usage();
  EXPECT_GE(cached->cache_bytes + kSlack, full->cache_bytes + 48 * kMiB);
  EXPECT_LE(cached->held_bytes(), full->held_bytes() + kSlack);
}

}  // namespace
}  // namespace plimsoll::memory
