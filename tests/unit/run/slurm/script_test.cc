#include "slurm/script.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace plimsoll::slurm {
namespace {

ScriptRequest usual_request() {
  return {.made_by = "plimsoll slurm train",
          .job_name = "papers",
          .folder = "/home/me/my work",
          .memory_bytes = (uint64_t{4} << 30) + 1,
          .seconds = 3601,
          .cpus = 8,
          .warning_seconds = 90,
          .notes = {"Memory: 3.9 GiB."},
          .command = {"plimsoll", "slurm", "exec", "--", "plimsoll", "train", "papers.plim"}};
}

bool has_line(const std::string& script, const std::string& line) {
  return ("\n" + script).find("\n" + line + "\n") != std::string::npos;
}

TEST(Script, AsksForWhatTheJobNeeds) {
  const std::string script = script_text(usual_request());
  EXPECT_TRUE(script.starts_with("#!/bin/bash\n"));
  for (const char* line :
       {"#SBATCH --job-name=papers", "#SBATCH --chdir=\"/home/me/my work\"", "#SBATCH --mem=4097M",
        "#SBATCH --time=01:01:00", "#SBATCH --cpus-per-task=8", "#SBATCH --requeue",
        "#SBATCH --signal=B:USR1@90", "#SBATCH --open-mode=append",
        "#SBATCH --output=papers-%j.log", "# Memory: 3.9 GiB.", "exec plimsoll slurm exec -- \\",
        "    plimsoll train papers.plim"}) {
    EXPECT_TRUE(has_line(script, line)) << line << "\n" << script;
  }
  EXPECT_EQ(script.find("--gpus"), std::string::npos);
}

TEST(Script, AsksForNoMemoryOrTimeIfNoneIsKnown) {
  ScriptRequest request = usual_request();
  request.memory_bytes.reset();
  request.seconds.reset();
  const std::string script = script_text(request);
  EXPECT_EQ(script.find("--mem"), std::string::npos);
  EXPECT_EQ(script.find("--time"), std::string::npos);
}

TEST(Script, LetsTheUsersOptionsReplaceOurs) {
  ScriptRequest request = usual_request();
  request.gpus = 1;
  request.options = {{"mem-per-cpu", "2G"}, {"gres", "gpu:a100:1"}, {"time", "5"}, {"qos", "long"}};
  const std::string script = script_text(request);
  EXPECT_EQ(script.find("--mem="), std::string::npos);
  EXPECT_EQ(script.find("--gpus="), std::string::npos);
  EXPECT_EQ(script.find("--time=01"), std::string::npos);
  for (const char* line : {"#SBATCH --mem-per-cpu=2G", "#SBATCH --gres=gpu:a100:1",
                           "#SBATCH --time=5", "#SBATCH --qos=long"}) {
    EXPECT_TRUE(has_line(script, line)) << line;
  }
}

TEST(Script, NamesTheLogOfEachTaskOfAnArray) {
  ScriptRequest request = usual_request();
  request.options = {{"array", "0-9%2"}};
  EXPECT_TRUE(has_line(script_text(request), "#SBATCH --output=papers-%A_%a.log"));
}

TEST(Script, RefusesAValueThatWouldBecomeAnotherLine) {
  ScriptRequest request = usual_request();
  request.folder = "/home/me\n#SBATCH --begin=now";
  EXPECT_THROW(script_text(request), Error);
}

TEST(Script, BreaksALongCommandIntoLines) {
  ScriptRequest request = usual_request();
  for (int i = 0; i < 40; ++i) request.command.emplace_back("--some-option");
  const std::string script = script_text(request);
  size_t longest = 0;
  for (size_t start = 0; start < script.size();) {
    const size_t end = script.find('\n', start);
    longest = std::max(longest, end - start);
    start = end + 1;
  }
  EXPECT_LE(longest, 112U);
  EXPECT_NE(script.find(" \\\n    --some-option"), std::string::npos);
}

TEST(SbatchOption, HasAKeyAndPerhapsAValue) {
  EXPECT_EQ(parse_sbatch_option("qos=long").key, "qos");
  EXPECT_EQ(parse_sbatch_option("--qos=long").value, "long");
  EXPECT_EQ(parse_sbatch_option("exclusive").value, "");
  EXPECT_EQ(parse_sbatch_option("comment=a=b c").value, "a=b c");
  for (const char* wrong : {"", "--", "=x", "a b=c", "x=\n", "comment=say \"x\""}) {
    EXPECT_THROW(parse_sbatch_option(wrong), Error) << wrong;
  }
}

TEST(TimeLimit, IsRoundedUpToMinutes) {
  EXPECT_EQ(format_limit(0), "00:01:00");
  EXPECT_EQ(format_limit(60), "00:01:00");
  EXPECT_EQ(format_limit(61), "00:02:00");
  EXPECT_EQ(format_limit(2 * 86400 + 3 * 3600), "2-03:00:00");
}

TEST(Warning, ComesEarlierForLongBatchesAndLargeCheckpoints) {
  EXPECT_EQ(warning_seconds(0.1, 1 << 20), 60U);
  EXPECT_EQ(warning_seconds(100, 0), 230U);
  EXPECT_GT(warning_seconds(0, uint64_t{10} << 30), 400U);
  EXPECT_EQ(warning_seconds(1e9, 0), 65535U);
}

}  // namespace
}  // namespace plimsoll::slurm
