#include <gtest/gtest.h>

#include "slurm/job.h"

namespace plimsoll::slurm {
namespace {

// As sacct of Slurm 22.05 prints it with account_command().
constexpr const char* kOutOfMemory =
    "1234|papers|OUT_OF_MEMORY|0:125|node1|4G|00:00:41|01:00:00|\n"
    "1234.batch|batch|OUT_OF_MEMORY|0:125|node1||00:00:41||4028K\n"
    "1234.extern|extern|COMPLETED|0:0|node1||00:00:41||0\n";

TEST(Accounting, ReadsAJobAndItsSteps) {
  const auto account = parse_account(kOutOfMemory);
  ASSERT_TRUE(account);
  EXPECT_EQ(account->id, "1234");
  EXPECT_EQ(account->state, "OUT_OF_MEMORY");
  EXPECT_EQ(account->exit_code, "0:125");
  EXPECT_EQ(account->run_seconds, 41);
  EXPECT_EQ(account->limit_seconds, 3600);
  EXPECT_EQ(account->sampled_peak_bytes, 4028U * 1024);
  EXPECT_EQ(decisive_code(*account), "OUT_OF_MEMORY");
}

TEST(Accounting, FindsTheStepThatRanOutOfMemory) {
  const auto account = parse_account(
      "7|j|FAILED|1:0|node1|4G|00:01:00|01:00:00|\n"
      "7.batch|batch|FAILED|1:0|node1||00:01:00||10M\n"
      "7.0|python|OUT_OF_MEMORY|0:125|node1||00:00:50||3G\n");
  EXPECT_EQ(account->step, "7.0");
  EXPECT_EQ(decisive_code(*account), "OUT_OF_MEMORY");
}

TEST(Accounting, ExplainsAFailureByItsExitCode) {
  const auto account = parse_account("7|j|FAILED|2:0|node1|4G|00:01:00|01:00:00|\n");
  EXPECT_EQ(decisive_code(*account), "2:0");
}

TEST(Accounting, TakesTheLastAttemptOfARequeuedJob) {
  const auto account = parse_account(
      "7|j|NODE_FAIL|1:0|node1|4G|00:01:00|01:00:00|\n"
      "7.batch|batch|CANCELLED|0:9|node1||00:01:00||2G\n"
      "7|j|TIMEOUT|0:0|node2|4G|01:00:00|01:00:00|\n");
  EXPECT_EQ(account->state, "TIMEOUT");
  EXPECT_EQ(account->nodes, "node2");
  EXPECT_EQ(account->sampled_peak_bytes, 0U);
}

TEST(Accounting, IsNothingForOtherText) {
  EXPECT_FALSE(parse_account(""));
  EXPECT_FALSE(parse_account("Slurm accounting storage is disabled"));
  EXPECT_FALSE(parse_account("7.batch|batch|FAILED|1:0|node1||00:01:00||10M"));
}

TEST(Accounting, IsDescribedInTwoLines) {
  const std::string text = describe(*parse_account(kOutOfMemory));
  EXPECT_TRUE(text.starts_with("job 1234 (papers): OUT_OF_MEMORY, exit code 0:125\n")) << text;
  EXPECT_NE(
      text.find("\n  ran 41.0 s of 1 h 00 min on node1; asked for 4G of memory; MaxRSS 3.9 MiB"),
      std::string::npos)
      << text;
}

TEST(Accounting, NamesTheMemoryToAskForNext) {
  EXPECT_EQ(memory_to_ask_for(*parse_account(kOutOfMemory)), uint64_t{6} << 30);
  EXPECT_EQ(memory_to_ask_for({.state = "OUT_OF_MEMORY", .memory = "4Gn"}), uint64_t{6} << 30);
  EXPECT_FALSE(memory_to_ask_for({.state = "OUT_OF_MEMORY", .memory = "4Gc"}));
  EXPECT_FALSE(memory_to_ask_for({.state = "OUT_OF_MEMORY"}));
  EXPECT_FALSE(memory_to_ask_for({.state = "FAILED", .exit_code = "1:0", .memory = "4G"}));
}

TEST(Accounting, ComesFromTheControllerWithoutSacct) {
  const JobAccount account = account_of(
      "8", {.state = "TIMEOUT", .name = "j", .exit_code = "0:0", .restarts = 2, .memory = "4G"});
  EXPECT_EQ(describe(account),
            "job 8 (j): TIMEOUT, exit code 0:0\n  asked for 4G of memory; restarted 2 times");
}

}  // namespace
}  // namespace plimsoll::slurm
