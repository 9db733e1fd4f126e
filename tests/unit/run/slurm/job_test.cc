#include "slurm/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::slurm {
namespace {

using testing::Contains;

Host job_host(std::map<std::string, std::string> variables) {
  Host host;
  host.variable =
      [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return host;
}

TEST(OwnJob, IsNothingOutsideOfAJob) { EXPECT_FALSE(own_job(job_host({}))); }

TEST(OwnJob, NamesATaskOfAnArrayByItsArray) {
  const auto job = own_job(job_host(
      {{"SLURM_JOB_ID", "1240"}, {"SLURM_ARRAY_JOB_ID", "1234"}, {"SLURM_ARRAY_TASK_ID", "7"}}));
  EXPECT_EQ(job->id, "1234_7");
  EXPECT_EQ(job->array_task, "7");
}

TEST(OwnJob, CountsAttemptsUnderEarlierIds) {
  const auto job = own_job(
      job_host({{"SLURM_JOB_ID", "12"}, {"SLURM_RESTART_COUNT", "2"}, {kEarlierRestarts, "3"}}));
  EXPECT_EQ(job->requeues, 2U);
  EXPECT_EQ(job->restarts, 5U);
}

TEST(OwnJob, KnowsItsMemoryPerNodeCpuOrGpu) {
  EXPECT_EQ(
      own_job(job_host({{"SLURM_JOB_ID", "12"}, {"SLURM_MEM_PER_NODE", "4096"}}))->memory_bytes,
      uint64_t{4} << 30);
  EXPECT_EQ(own_job(job_host({{"SLURM_JOB_ID", "12"},
                              {"SLURM_MEM_PER_CPU", "1024"},
                              {"SLURM_CPUS_ON_NODE", "4"}}))
                ->memory_bytes,
            uint64_t{4} << 30);
  EXPECT_EQ(
      own_job(job_host({{"SLURM_JOB_ID", "12"}, {"SLURM_MEM_PER_GPU", "4096"}}))->memory_bytes,
      uint64_t{4} << 30);
  EXPECT_FALSE(
      own_job(job_host({{"SLURM_JOB_ID", "12"}, {"SLURM_MEM_PER_NODE", "0"}}))->memory_bytes);
  EXPECT_FALSE(
      own_job(job_host({{"SLURM_JOB_ID", "12"}, {"SLURM_MEM_PER_NODE", "4G"}}))->memory_bytes);
}

// As Slurm 22.05 prints it.
constexpr const char* kLine =
    "JobId=5 JobName=probe.sh UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901755 "
    "Nice=0 Account=(null) QOS=(null) JobState=COMPLETING Reason=None Dependency=(null) Requeue=1 "
    "Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:9 RunTime=00:01:02 TimeLimit=1-00:10:00 "
    "TimeMin=N/A SubmitTime=2026-11-18T02:27:02 EndTime=2026-11-18T02:37:02 Deadline=N/A "
    "PreemptEligibleTime=2026-11-18T02:27:02 PreemptTime=None NodeList=node[1-2] "
    "MinCPUsNode=1 MinMemoryNode=100M MinTmpDiskNode=0 Command=/home/me/my probe.sh "
    "WorkDir=/home/me StdErr=/home/me/out.5\n";

TEST(JobRecord, IsReadFromScontrol) {
  const auto record = parse_record(kLine);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->state, "COMPLETING");
  EXPECT_EQ(record->reason, "None");
  EXPECT_EQ(record->name, "probe.sh");
  EXPECT_EQ(record->restarts, 1U);
  EXPECT_EQ(record->exit_code, "0:9");
  EXPECT_FALSE(record->preempted);
  EXPECT_EQ(record->run_seconds, 62);
  EXPECT_EQ(record->limit_seconds, 87000);
  EXPECT_EQ(record->memory, "100M");
  EXPECT_EQ(record->nodes, "node[1-2]");
  EXPECT_EQ(record->command, "/home/me/my probe.sh");
}

TEST(JobRecord, KnowsAPreemption) {
  EXPECT_TRUE(parse_record("JobId=5 JobState=RUNNING PreemptTime=2026-11-18T02:27:02")->preempted);
}

TEST(JobRecord, IsNothingForOtherText) {
  EXPECT_FALSE(parse_record(""));
  EXPECT_FALSE(parse_record("slurm_load_jobs error: Invalid job id specified"));
  EXPECT_FALSE(parse_record("JobState="));
}

TEST(Elapsed, IsReadInSlurmsForms) {
  EXPECT_EQ(parse_elapsed("03:04"), 184);
  EXPECT_EQ(parse_elapsed("02:03:04"), 7384);
  EXPECT_EQ(parse_elapsed("1-02:03:04"), 93784);
  EXPECT_EQ(parse_elapsed("00:00:09"), 9);
  EXPECT_FALSE(parse_elapsed("UNLIMITED"));
  EXPECT_FALSE(parse_elapsed("Partition_Limit"));
  EXPECT_FALSE(parse_elapsed(""));
  EXPECT_FALSE(parse_elapsed("x-01:00:00"));
}

TEST(SlurmSteps, DivideTheCpusAndTheMemoryOfTheJob) {
  const TempFolder folder;
  std::ofstream(folder / "srun") << "#!/bin/sh\n";
  std::filesystem::permissions(folder / "srun", std::filesystem::perms::owner_all);
  std::map<std::string, std::string> variables = {{"PATH", "/nowhere:" + folder.path().string()},
                                                  {"SLURM_JOB_NUM_NODES", "2"},
                                                  {"SLURM_CPUS_ON_NODE", "8"},
                                                  {"SLURM_MEM_PER_NODE", "1000"}};
  Host host;
  host.variable = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  EXPECT_FALSE(slurm_steps(4, {}, host)) << "no job";
  variables["SLURM_JOB_ID"] = "7";
  const auto steps = slurm_steps(4, {}, host);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->cpus, 4);
  EXPECT_EQ(steps->memory_bytes, 500 * kMiB);
  EXPECT_EQ(slurm_steps(1, {}, host)->cpus, 8) << "a step stays on one node";
  for (const char* word : {"--exclusive", "--cpus-per-task=4", "--mem=500M"}) {
    EXPECT_THAT(step_words(*steps, {}), Contains(word));
  }
  EXPECT_EQ(step_words(*steps, {}).front(), (folder / "srun").string());
  EXPECT_THAT(step_words(*steps, 200 * kMiB), Contains("--mem=264M"));
  variables["SLURM_GPUS_ON_NODE"] = "4";
  EXPECT_THAT(step_words(*slurm_steps(4, 2, host), {}), Contains("--gpus=2"));
  variables["PATH"] = "/nowhere";
  EXPECT_FALSE(slurm_steps(4, {}, host)) << "no srun";
}

}  // namespace
}  // namespace plimsoll::slurm
