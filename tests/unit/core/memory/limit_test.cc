#include "memory/limit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>
#include <string>

#include "base/units.h"
#include "fake_host.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

constexpr uint64_t kRam = 64 * kGiB;

class DetectLimit : public testing::Test, protected FakeHost {
 protected:
  Limit detect() const { return detect_limit(host()); }
  void expect_limit(uint64_t bytes, const std::string& winner) const {
    const Limit limit = detect();
    EXPECT_EQ(limit.bytes, bytes) << describe(limit);
    EXPECT_EQ(limit.winner, winner) << describe(limit);
  }
};

TEST_F(DetectLimit, IsTheRamWhereNothingElseIsSaid) { expect_limit(kRam, "RAM"); }

TEST_F(DetectLimit, TakesTheLimitOfItsOwnCgroupV2) {
  put_cgroup(kV2Mount, "0::/user.slice/job.scope\n");
  put("sys/fs/cgroup/user.slice/memory.max", "max\n");
  put_bytes("sys/fs/cgroup/user.slice/job.scope/memory.max", 8 * kGiB);
  expect_limit(8 * kGiB, "cgroup v2 memory.max of /user.slice/job.scope");
}

TEST_F(DetectLimit, TakesWhatASupervisorSays) {
  variables_[kLimitVariable] = std::to_string(4 * kGiB);
  expect_limit(4 * kGiB, "PLIMSOLL_MEMORY_LIMIT");
  for (const char* nonsense : {"", "0", "4G", "-1", "many"}) {
    variables_[kLimitVariable] = nonsense;
    expect_limit(kRam, "RAM");
  }
}

TEST_F(DetectLimit, FindsALimitTwoLevelsUp) {
  put_cgroup(kV2Mount, "0::/user.slice/user-1.slice/job.scope\n");
  put_bytes("sys/fs/cgroup/user.slice/memory.max", 4 * kGiB);
  put("sys/fs/cgroup/user.slice/user-1.slice/memory.max", "max\n");
  put_bytes("sys/fs/cgroup/user.slice/user-1.slice/job.scope/memory.max", 6 * kGiB);
  expect_limit(4 * kGiB, "cgroup v2 memory.max of /user.slice");
}

TEST_F(DetectLimit, IgnoresCgroupsBesideItsOwn) {
  put_cgroup(kV2Mount, "0::/mine\n");
  put("sys/fs/cgroup/mine/memory.max", "max\n");
  put_bytes("sys/fs/cgroup/other/memory.max", kGiB);
  expect_limit(kRam, "RAM");
}

TEST_F(DetectLimit, CountsMemoryHigh) {
  put_cgroup(kV2Mount, "0::/job\n");
  put_bytes("sys/fs/cgroup/job/memory.max", 8 * kGiB);
  put_bytes("sys/fs/cgroup/job/memory.high", 7 * kGiB);
  expect_limit(7 * kGiB, "cgroup v2 memory.high of /job");
}

TEST_F(DetectLimit, TakesTheSmallestLimitOfCgroupV1) {
  put_cgroup(kV1Mounts,
             "9:cpu,cpuacct:/elsewhere\n4:memory:/slurm/job_7/step_0\n1:name=systemd:/\n");
  put_bytes("sys/fs/cgroup/memory/memory.limit_in_bytes", 9223372036854771712U);
  put_bytes("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", 32 * kGiB);
  put_bytes("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", 5 * kGiB);
  put_bytes("sys/fs/cgroup/memory/slurm/job_7/step_0/memory.limit_in_bytes", 9223372036854771712U);
  expect_limit(5 * kGiB, "cgroup v1 memory.limit_in_bytes of /slurm/job_7");
}

TEST_F(DetectLimit, FindsTheMemoryControllerMountedWithOthers) {
  put_cgroup("35 30 0:31 / /cgroup/both rw - cgroup none rw,cpuset,memory,hugetlb\n",
             "4:cpuset,memory,hugetlb:/job\n");
  put_bytes("cgroup/both/job/memory.limit_in_bytes", 3 * kGiB);
  expect_limit(3 * kGiB, "cgroup v1 memory.limit_in_bytes of /job");
}

TEST_F(DetectLimit, TakesTheSmallerOfBothVersions) {
  put_cgroup(kV1Mounts + kUnifiedMount, "4:memory:/job\n0::/job\n");
  put_bytes("sys/fs/cgroup/memory/job/memory.limit_in_bytes", 6 * kGiB);
  put_bytes("sys/fs/cgroup/unified/job/memory.max", 8 * kGiB);
  expect_limit(6 * kGiB, "cgroup v1 memory.limit_in_bytes of /job");
  put_bytes("sys/fs/cgroup/unified/job/memory.max", 2 * kGiB);
  expect_limit(2 * kGiB, "cgroup v2 memory.max of /job");
}

// The mount shows /docker/abc as its root, and /proc/self/cgroup speaks from the host's root.
TEST_F(DetectLimit, ReadsAContainersCgroupFromTheRootOfItsMount) {
  put_cgroup("30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
             "0::/docker/abc/worker\n");
  put_bytes("sys/fs/cgroup/memory.max", 3 * kGiB);
  put_bytes("sys/fs/cgroup/worker/memory.max", 2 * kGiB);
  expect_limit(2 * kGiB, "cgroup v2 memory.max of /worker");
  put("sys/fs/cgroup/worker/memory.max", "max\n");
  expect_limit(3 * kGiB, "cgroup v2 memory.max of /");
}

TEST_F(DetectLimit, ReadsAContainersCgroupOfVersion1) {
  put_cgroup("35 30 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
             "4:memory:/docker/abc\n");
  put_bytes("sys/fs/cgroup/memory/memory.limit_in_bytes", kGiB);
  expect_limit(kGiB, "cgroup v1 memory.limit_in_bytes of /");
}

TEST_F(DetectLimit, FallsBackToTheMountWhereItsCgroupIsNotShown) {
  put_cgroup(kV2Mount, "0::/not/shown/here\n");
  put_bytes("sys/fs/cgroup/memory.max", 3 * kGiB);
  expect_limit(3 * kGiB, "cgroup v2 memory.max of /");
  put_cgroup(kV2Mount, "0::/../outside\n");  // outside of the cgroup namespace
  put_bytes("sys/fs/outside/memory.max", kGiB);
  expect_limit(3 * kGiB, "cgroup v2 memory.max of /");
}

TEST_F(DetectLimit, ReadsACgroupWhoseNameHoldsTwoDots) {
  put_cgroup(kV2Mount, "0::/job..7\n");
  put_bytes("sys/fs/cgroup/job..7/memory.max", 3 * kGiB);
  expect_limit(3 * kGiB, "cgroup v2 memory.max of /job..7");
}

TEST_F(DetectLimit, TakesMaxAndNumbersNearTwoToThe63AsNoLimit) {
  put_cgroup(kV1Mounts + kUnifiedMount, "4:memory:/job\n0::/job\n");
  put("sys/fs/cgroup/unified/job/memory.max", "max\n");
  put("sys/fs/cgroup/unified/job/memory.high", "max\n");
  for (const uint64_t none : {9223372036854771712U, 9223372036854775807U, 9223372036854710272U}) {
    put_bytes("sys/fs/cgroup/memory/job/memory.limit_in_bytes", none);
    expect_limit(kRam, "RAM");
    EXPECT_EQ(detect().sources.size(), 1U);
  }
}

TEST_F(DetectLimit, TakesSlurmsMemoryPerNodeInMebibytes) {
  variables_ = {{"SLURM_MEM_PER_NODE", "4096"}};
  expect_limit(4 * kGiB, "SLURM_MEM_PER_NODE");
}

TEST_F(DetectLimit, MultipliesSlurmsMemoryPerCpu) {
  variables_ = {{"SLURM_MEM_PER_CPU", "2048"}, {"SLURM_CPUS_ON_NODE", "6"}};
  expect_limit(12 * kGiB, "SLURM_MEM_PER_CPU for 6 CPUs");
  variables_ = {{"SLURM_MEM_PER_GPU", "2048"}, {"SLURM_GPUS_ON_NODE", "3"}};
  expect_limit(6 * kGiB, "SLURM_MEM_PER_GPU for 3 GPUs");
  variables_ = {{"SLURM_MEM_PER_CPU", "2048"}};
  EXPECT_EQ(detect().bytes, 2 * kGiB);
}

TEST_F(DetectLimit, IgnoresSlurmsZeroWhichMeansAllAndWhatIsNoNumber) {
  for (const char* text : {"0", "", "all", "-5"}) {
    variables_ = {{"SLURM_MEM_PER_NODE", text}, {"SLURM_MEM_PER_CPU", text}};
    expect_limit(kRam, "RAM");
  }
}

TEST_F(DetectLimit, ListsEverythingItFoundSmallestFirst) {
  put_cgroup(kV2Mount, "0::/job\n");
  put_bytes("sys/fs/cgroup/job/memory.max", 8 * kGiB);
  variables_ = {{"SLURM_MEM_PER_NODE", "4096"}};
  const Limit limit = detect();
  ASSERT_EQ(limit.sources.size(), 3U);
  EXPECT_EQ(limit.sources[0].name, "SLURM_MEM_PER_NODE");
  EXPECT_EQ(limit.sources[0].bytes, 4 * kGiB);
  EXPECT_EQ(limit.sources[1].name, "cgroup v2 memory.max of /job");
  EXPECT_EQ(limit.sources[2].name, "RAM");
  EXPECT_EQ(limit.sources[2].bytes, kRam);
}

TEST_F(DetectLimit, FailsWhereNothingTellsTheMemory) {
  put("proc/meminfo", "");
  expect_error(ErrorKind::io, {"proc/meminfo", "--memory"}, [&] { detect(); });
}

TEST(Host, ReadsTheRealMachine) {
  const Limit limit = detect_limit();
  EXPECT_GT(limit.bytes, 16 * kMiB);
  EXPECT_LT(limit.bytes, uint64_t{1} << 50);
  ::setenv("PLIMSOLL_LIMIT_TEST", "17", 1);
  EXPECT_EQ(Host::real().variable("PLIMSOLL_LIMIT_TEST"), "17");
  ::unsetenv("PLIMSOLL_LIMIT_TEST");
  EXPECT_EQ(Host::real().variable("PLIMSOLL_LIMIT_TEST"), std::nullopt);
}

Limit detected_ram(uint64_t bytes) {
  return {.bytes = bytes, .winner = "RAM", .sources = {{"RAM", bytes, true}}, .source = 0};
}

TEST(ChooseLimit, TakesTheFlagWhereItIsSmaller) {
  const Limit limit = choose_limit(8 * kGiB, detected_ram(24 * kGiB));
  EXPECT_EQ(limit.bytes, 8 * kGiB);
  EXPECT_EQ(describe(limit), "8.0 GiB (--memory; RAM 24.0 GiB)");
}

TEST(ChooseLimit, TakesTheFlagWhereItIsAllThereIs) {
  const Limit limit = choose_limit(24 * kGiB, detected_ram(24 * kGiB));
  EXPECT_EQ(limit.bytes, 24 * kGiB);
  EXPECT_EQ(limit.winner, "--memory");
}

TEST(ChooseLimit, TakesWhatWasDetectedWhereTheFlagIsLargerAndSaysSo) {
  const Limit limit = choose_limit(32 * kGiB, detected_ram(24 * kGiB));
  EXPECT_EQ(limit.bytes, 24 * kGiB);
  EXPECT_EQ(describe(limit), "24.0 GiB (RAM, less than --memory 32.0 GiB)");
}

TEST(ChooseLimit, TakesHalfOfWhatWasDetectedWithoutAFlag) {
  const Limit limit = choose_limit({}, detected_ram(24 * kGiB));
  EXPECT_EQ(limit.bytes, 12 * kGiB);
  EXPECT_EQ(describe(limit), "12.0 GiB (half of RAM; RAM 24.0 GiB)");
}

TEST(DescribeLimit, NamesTheOtherSourcesToo) {
  const Limit limit = {.bytes = 4 * kGiB,
                       .winner = "SLURM_MEM_PER_NODE",
                       .sources = {{"SLURM_MEM_PER_NODE", 4 * kGiB}, {"RAM", 24 * kGiB, true}},
                       .source = 0};
  EXPECT_EQ(describe(limit), "4.0 GiB (SLURM_MEM_PER_NODE; RAM 24.0 GiB)");
}

// The name of a cgroup begins with the name of the one above it.
TEST(DescribeLimit, NamesTheCgroupsAboveTheWinner) {
  const Limit limit = {.bytes = 4 * kGiB,
                       .winner = "cgroup v2 memory.max of /a/b",
                       .sources = {{"cgroup v2 memory.max of /a/b", 4 * kGiB},
                                   {"cgroup v2 memory.max of /a", 6 * kGiB},
                                   {"cgroup v2 memory.max of /", 8 * kGiB}},
                       .source = 0};
  EXPECT_EQ(describe(limit),
            "4.0 GiB (cgroup v2 memory.max of /a/b; cgroup v2 memory.max of /a 6.0 GiB; "
            "cgroup v2 memory.max of / 8.0 GiB)");
}

}  // namespace
}  // namespace plimsoll::memory
