#include "diagnosis/explain.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "diagnosis/result_file.h"
#include "nlohmann/json.hpp"
#include "temp_folder.h"

namespace plimsoll::diagnosis {
namespace {

Circumstances calm() {
  Circumstances now;
  now.limit = {.bytes = 64 * kGiB, .winner = "RAM", .sources = {{"RAM", 64 * kGiB, true}}};
  now.available_bytes = 60 * kGiB;
  now.oom_kills = 0;
  now.kernel_log_readable = true;
  now.seconds_since_boot = 1000;
  return now;
}

std::string likeliest(const std::string& code, const Circumstances& now) {
  return explain(parse_code(code).value(), now).causes.at(0).what;
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.starts_with(start);
}

TEST(ParseCode, KnowsTheFormsPeopleFind) {
  EXPECT_EQ(parse_code("137")->signal, SIGKILL);
  EXPECT_EQ(parse_code("-9")->signal, SIGKILL);
  EXPECT_EQ(parse_code("SIGKILL")->signal, SIGKILL);
  EXPECT_EQ(parse_code("TERM")->signal, SIGTERM);
  EXPECT_EQ(parse_code("0:9")->signal, SIGKILL);
  EXPECT_EQ(parse_code("0:125")->signal, 125);
  EXPECT_FALSE(parse_code("1:0")->signal);
  EXPECT_EQ(parse_code("1:0")->exit_code, 1);
  EXPECT_FALSE(parse_code("1")->signal);
  EXPECT_FALSE(parse_code("255")->signal);
}

TEST(ParseCode, RefusesWhatIsNone) {
  for (const char* text : {"", "x", "256", "1:", ":", "1:x", "1.5", "-100", "run.log", "0x9"}) {
    EXPECT_FALSE(parse_code(text)) << text;
  }
}

TEST(ParseCode, KnowsTheStatesOfASlurmJob) {
  const std::vector<std::pair<std::string, std::string>> states = {
      {"BF", "BOOT_FAIL"},     {"CA", "CANCELLED"},    {"CD", "COMPLETED"},
      {"CF", "CONFIGURING"},   {"CG", "COMPLETING"},   {"DL", "DEADLINE"},
      {"F", "FAILED"},         {"NF", "NODE_FAIL"},    {"OOM", "OUT_OF_MEMORY"},
      {"PD", "PENDING"},       {"PR", "PREEMPTED"},    {"R", "RUNNING"},
      {"RD", "RESV_DEL_HOLD"}, {"RF", "REQUEUE_FED"},  {"RH", "REQUEUE_HOLD"},
      {"RQ", "REQUEUED"},      {"RS", "RESIZING"},     {"RV", "REVOKED"},
      {"SI", "SIGNALING"},     {"SE", "SPECIAL_EXIT"}, {"SO", "STAGE_OUT"},
      {"ST", "STOPPED"},       {"S", "SUSPENDED"},     {"TO", "TIMEOUT"}};
  for (const auto& [brief, name] : states) {
    ASSERT_TRUE(parse_code(brief)) << brief;
    EXPECT_EQ(parse_code(brief)->state->name, name);
    EXPECT_EQ(parse_code(name)->state->name, name);
  }
  EXPECT_EQ(parse_code("cancelled by 1000")->state->name, "CANCELLED");
  EXPECT_EQ(parse_code("CANCELLED+")->state->name, "CANCELLED");
  EXPECT_EQ(parse_code("OUT_OF_ME+")->state->name, "OUT_OF_MEMORY");
  EXPECT_FALSE(parse_code("RE+")) << "several begin so";
  EXPECT_FALSE(parse_code("COMPLET+")) << "COMPLETED or COMPLETING";
  EXPECT_FALSE(parse_code("CANCELLED by"));
}

TEST(ParseCode, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest_code("OUT_OF_MEMROY"), "OUT_OF_MEMORY");
  EXPECT_EQ(nearest_code("time_out"), "TIMEOUT");
  EXPECT_EQ(nearest_code("CANCELED"), "CANCELLED");
  EXPECT_EQ(nearest_code("SIGKIL"), "SIGKILL");
  EXPECT_FALSE(nearest_code("banana"));
}

TEST(Explain, HasACauseAndARemedyForEveryStateOfASlurmJob) {
  for (const std::string& name : slurm_state_names()) {
    const auto explanation = explain(parse_code(name).value(), calm());
    ASSERT_FALSE(explanation.causes.empty()) << name;
    EXPECT_TRUE(starts_with(explanation.headline, name + ": the job ")) << explanation.headline;
    for (const LikelyCause& cause : explanation.causes) EXPECT_NE(cause.next_step, "") << name;
  }
  EXPECT_TRUE(starts_with(explain(parse_code("OOM").value(), calm()).headline,
                          "OOM = OUT_OF_MEMORY: the job "));
}

TEST(Explain, HasCausesForEveryCode) {
  for (int code = 0; code < 256; ++code) {
    const auto explanation = explain(parse_code(std::to_string(code)).value(), calm());
    EXPECT_FALSE(explanation.causes.empty()) << code;
    EXPECT_TRUE(starts_with(explanation.headline, std::to_string(code))) << explanation.headline;
  }
}

TEST(Explain, BlamesSomebodysKillWhereNoOomKillWasCounted) {
  EXPECT_TRUE(starts_with(likeliest("137", calm()), "somebody's kill -9"));
}

TEST(Explain, BlamesTheLimitWhereTheKernelLogHasACase) {
  Circumstances now = calm();
  now.oom_kills = 3;
  now.limit.sources.insert(now.limit.sources.begin(), {"cgroup v2 memory.max of /job", 16 * kGiB});
  now.kernel_notes = parse_kernel_log(
      "<3>[  900.25] Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB, "
      "anon-rss:12582912kB, file-rss:0kB\n");
  const auto explanation = explain(parse_code("0:9").value(), now);
  EXPECT_TRUE(starts_with(explanation.causes.at(0).what, "the OOM killer of a memory limit"));
  EXPECT_EQ(describe_oom_kills(now),
            "3 OOM kills since boot, the last in the kernel log: python (12.0 GiB) by its group's "
            "limit 1 min 40 s ago");
}

TEST(Explain, BlamesTheHostWhereItKilledBefore) {
  Circumstances now = calm();
  now.oom_kills = 1;
  now.kernel_notes = parse_kernel_log("[ 10.0] Out of memory: Killed process 1 (python) x\n");
  EXPECT_TRUE(starts_with(likeliest("137", now), "the host's OOM killer"));
}

TEST(Explain, BlamesTheKillerThatWasSeenLast) {
  const std::string group = "[ 20.0] Memory cgroup out of memory: Killed process 2 (python) x\n";
  const std::string host = "[ 10.0] Out of memory: Killed process 1 (python) x\n";
  Circumstances now = calm();
  now.oom_kills = 2;
  now.kernel_notes = parse_kernel_log(host + group);
  EXPECT_TRUE(starts_with(likeliest("137", now), "the OOM killer of a memory limit"));
  now.kernel_notes = parse_kernel_log(group + host);
  EXPECT_TRUE(starts_with(likeliest("137", now), "the host's OOM killer"));
}

TEST(Explain, KnowsSlurmsMarkForMemory) {
  const auto explanation = explain(parse_code("0:125").value(), calm());
  EXPECT_EQ(explanation.headline, "0:125: Slurm's code for a job that ran out of memory");
}

TEST(Explain, BlamesAFullDiskForAFailureWhereItIsFull) {
  Circumstances now = calm();
  now.disk = Space{.total_bytes = 100 * kGiB, .free_bytes = kMiB, .free_files = 1'000'000};
  EXPECT_EQ(likeliest("1", now), "a disk that ran full");
}

TEST(KernelLog, FindsSegfaultsAndIgnoresTheRest) {
  const auto notes = parse_kernel_log(
      "<6>[30530.724110] python[3271]: segfault at 38 ip 00 sp 00 error 4 in x.so\n"
      "[1] usb 1-1: new device\nnonsense\n\n");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].process, "python");
  EXPECT_NEAR(notes[0].seconds_after_boot, 30530.72, 0.01);
}

TEST(LastRun, ComesBackAsItWasWritten) {
  const TempFolder folder;
  Evidence evidence;
  evidence.ending.command = {"python", "train.py"};
  evidence.ending.leader = process::Exited{1};
  evidence.ending.output_tail = "MemoryError\n";
  const Verdict verdict = judge(evidence);
  write_file(folder / "last.json", result_json(evidence, verdict).dump());
  const LastRun run = read_last_run(folder / "last.json");
  EXPECT_EQ(run.command, "python train.py");
  EXPECT_EQ(describe(run.verdict), describe(verdict));
}

TEST(LastRun, RefusesAnotherFile) {
  const TempFolder folder;
  write_file(folder / "last.json", "{\"verdict\": 3}");
  expect_error(ErrorKind::input, {"is not a result of plimsoll exec"},
               [&] { read_last_run(folder / "last.json"); });
  expect_error(ErrorKind::io, {"there is no last run"},
               [&] { read_last_run(folder / "none.json"); });
}

}  // namespace
}  // namespace plimsoll::diagnosis
