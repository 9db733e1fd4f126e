#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/units.h"
#include "diagnosis/verdict.h"

namespace plimsoll::diagnosis {
namespace {

using process::Cut;
using process::Exited;
using process::NotStarted;
using process::Signaled;

Evidence ended(process::LeaderEnd leader, std::string output = {}) {
  Evidence evidence;
  evidence.ending.command = {"python", "train.py"};
  evidence.ending.leader = std::move(leader);
  evidence.ending.seconds = 41;
  evidence.ending.output_tail = std::move(output);
  return evidence;
}

Evidence killed_for_memory(uint64_t own_limit_hits) {
  Evidence evidence = ended(Signaled{SIGKILL});
  evidence.ending.level = process::Level::cgroup2;
  evidence.ending.memory = {.limit_bytes = 16 * kGiB,
                            .enforced_by_kernel = true,
                            .peak_bytes = 16 * kGiB,
                            .own_limit_hits = own_limit_hits,
                            .group_oom_kills = 1,
                            .host_oom_kills = 1,
                            .largest_process = "python train.py",
                            .largest_process_bytes = 15 * kGiB + 205 * kMiB};
  return evidence;
}

meter::GpuReading gpu(uint64_t used_bytes) {
  meter::GpuReading reading{.index = 0, .uuid = "GPU-1", .name = "A", .total_bytes = 80 * kGiB};
  reading.used_bytes = used_bytes;
  reading.free_bytes = reading.total_bytes - used_bytes;
  return reading;
}

void expect_cause(Cause cause, const Evidence& evidence) {
  const Verdict verdict = judge(evidence);
  EXPECT_EQ(name(verdict.cause), name(cause)) << describe(verdict);
}

const std::string kTorchOutOfMemory =
    "Traceback (most recent call last):\n"
    "  File \"/home/ada/train.py\", line 41, in main\n"
    "    loss.backward()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 79.15 GiB of which 1.15 GiB is free. Including non-PyTorch memory, this process "
    "has {} memory in use. Of the allocated memory 73.50 GiB is allocated by PyTorch, and 100.00 "
    "MiB is reserved by PyTorch but unallocated.\n";

std::string torch_out_of_memory(const std::string& own) {
  std::string text = kTorchOutOfMemory;
  return text.replace(text.find("{}"), 2, own);
}

TEST(Judge, PrintsItsOwnLimitInThreeLines) {
  EXPECT_EQ(describe(judge(killed_for_memory(3))),
            "✗ out of memory: killed by its own limit after 41 s\n"
            "  peak 16.0 GiB of 16.0 GiB (memory.events: oom_kill 1); largest process python "
            "train.py (15.2 GiB)\n"
            "  try: --batch-size at half its value, or --memory 24G");
}

TEST(Judge, TakesAWorkersEndAtTheLimitForTheCommands) {
  Evidence evidence = killed_for_memory(3);
  evidence.ending.leader = Exited{0};
  expect_cause(Cause::own_memory_limit, evidence);
}

TEST(Judge, SaysWhetherTheKernelEnforcesTheLimitWeEndedItFor) {
  Evidence evidence = killed_for_memory(3);
  evidence.ending.cut = process::Cut::memory_watch;
  EXPECT_NE(describe(judge(evidence)).find("(memory.events: oom_kill 1)"), std::string::npos);
  evidence.ending.memory.enforced_by_kernel = false;
  EXPECT_NE(describe(judge(evidence)).find("(watched: no cgroup enforces it here)"),
            std::string::npos);
}

TEST(Judge, NamesNoProcessThatCannotHaveTakenTheMemory) {
  Evidence evidence = killed_for_memory(3);
  evidence.ending.memory.largest_process_bytes = 4 * kMiB;
  EXPECT_EQ(describe(judge(evidence)).find("largest process"), std::string::npos);
}

TEST(Judge, BlamesTheHostWhereItsOwnLimitWasNeverReached) {
  expect_cause(Cause::host_out_of_memory, killed_for_memory(0));
}

TEST(Judge, BlamesTheHostForAKillWithoutAGroupOfItsOwn) {
  Evidence evidence = ended(Signaled{SIGKILL});
  evidence.ending.memory.host_oom_kills = 2;
  expect_cause(Cause::host_out_of_memory, evidence);
}

TEST(Judge, SeesTheKilledWorkerBehindAnOrdinaryExitCode) {
  Evidence evidence = killed_for_memory(1);
  evidence.ending.leader = Exited{1};
  evidence.ending.output_tail =
      "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.\n";
  expect_cause(Cause::own_memory_limit, evidence);
}

TEST(Judge, NamesTheBatchSizeOfTheCommandAndNoMemoryThatTheMachineLacks) {
  Evidence evidence = killed_for_memory(1);
  evidence.ending.command = {"bash", "-c", "python train.py --batch_size=64 | tee log"};
  evidence.machine_limit_bytes = 20 * kGiB;
  EXPECT_EQ(judge(evidence).next_step, "--batch_size=32 instead of 64");
}

TEST(Judge, CallsAKillWithoutAnOomKillSomebodyElses) {
  expect_cause(Cause::killed, ended(Signaled{SIGKILL}));
  expect_cause(Cause::killed, ended(Signaled{SIGTERM}));
}

TEST(Judge, NamesTheSignalThatPlimsollDidNotSendAndItsUsualSenders) {
  const Verdict killed = judge(ended(Signaled{SIGKILL}));
  EXPECT_EQ(killed.headline, "killed after 41 s by SIGKILL, not sent by plimsoll");
  EXPECT_NE(killed.next_step.find("systemd-oomd"), std::string::npos) << killed.next_step;
  EXPECT_NE(killed.next_step.find("kill -9"), std::string::npos) << killed.next_step;
  EXPECT_EQ(judge(ended(Signaled{SIGTERM})).headline,
            "killed after 41 s by SIGTERM, not sent by plimsoll");
}

TEST(Judge, CountsTheProcessesThatWereLeftRunning) {
  Evidence evidence = ended(Exited{0});
  evidence.ending.leftovers_ended = 1;
  EXPECT_EQ(judge(evidence).evidence, "plimsoll ended 1 process that it left running");
  evidence.ending.leftovers_ended = 2;
  EXPECT_EQ(judge(evidence).evidence, "plimsoll ended 2 processes that it left running");
}

TEST(Judge, UnwrapsWhatAShellReports) {
  Evidence evidence = ended(Exited{137});
  evidence.ending.command = {"/bin/bash", "-c", "python train.py"};
  const Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.cause, Cause::killed);
  EXPECT_NE(verdict.evidence.find("bash reported 137: SIGKILL"), std::string::npos);
  expect_cause(Cause::segfault, ended(Exited{139}));
  expect_cause(Cause::broken_pipe, ended(Exited{141}));
  expect_cause(Cause::killed, ended(Exited{143}));
  expect_cause(Cause::crashed, ended(Exited{134}));
}

TEST(Judge, CallsAnEndByZeroSuccessWhateverTheOutputSays) {
  const Verdict verdict = judge(ended(Exited{0}, torch_out_of_memory("74.00 GiB")));
  EXPECT_EQ(verdict.cause, Cause::success);
  EXPECT_NE(verdict.evidence.find("exit code 0, but the output says"), std::string::npos);
  EXPECT_EQ(verdict.next_step, "");
}

TEST(Judge, SeesAFailureThatAPipeHides) {
  Evidence evidence = ended(Exited{0}, torch_out_of_memory("77.50 GiB"));
  evidence.ending.command = {"bash", "-c", "python train.py 2>&1 | tee run.log"};
  expect_cause(Cause::gpu_memory_own, evidence);
  evidence.ending.command[2] = "set -o pipefail; python train.py 2>&1 | tee run.log";
  expect_cause(Cause::success, evidence);
  evidence.ending.command[2] = "python train.py || true";
  expect_cause(Cause::success, evidence);
}

TEST(Judge, BlamesTheSizeOfATrainingThatHadTheGpuToItself) {
  Evidence evidence = ended(Exited{1}, torch_out_of_memory("77.50 GiB"));
  evidence.gpus_before = {gpu(600 * kMiB)};
  evidence.gpus_at_end = {gpu(600 * kMiB)};
  const Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.cause, Cause::gpu_memory_own) << describe(verdict);
  EXPECT_EQ(verdict.evidence,
            "it wanted 2.0 GiB more and held 77.5 GiB of 79.1 GiB; no other process held much of "
            "the GPU");
}

TEST(Judge, BlamesANeighbourWithoutWhomItWouldHaveFitted) {
  Evidence evidence = ended(Exited{1}, torch_out_of_memory("38.00 GiB"));
  evidence.gpus_before = {gpu(40 * kGiB)};
  evidence.gpus_before[0].holders = {
      {.pid = 7, .user = "bob", .command = "python other.py", .bytes = 40 * kGiB}};
  const Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.cause, Cause::gpu_memory_neighbour) << describe(verdict);
  EXPECT_NE(verdict.evidence.find("python other.py (pid 7, bob, 40.0 GiB)"), std::string::npos);
  EXPECT_NE(verdict.next_step.find("--gpu-free 40G --gpu-wait 10m"), std::string::npos);
  EXPECT_EQ(verdict.gpu_room_bytes, 40 * kGiB);
}

TEST(Judge, FindsANeighbourInTorchsOwnFiguresWithoutASnapshot) {
  expect_cause(Cause::gpu_memory_neighbour, ended(Exited{1}, torch_out_of_memory("38.00 GiB")));
}

TEST(Judge, DoesNotBlameANeighbourForWhatNeverFitted) {
  Evidence evidence = ended(Exited{1},
                            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
                            "171798691840 bytes.");
  evidence.gpus_before = {gpu(40 * kGiB)};
  expect_cause(Cause::gpu_memory_own, evidence);
}

TEST(Judge, SuggestsExpandableSegmentsForIdlePieces) {
  const Verdict verdict = judge(
      ended(Exited{1},
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
            "total capacity of 79.15 GiB of which 0.15 GiB is free. Including non-PyTorch memory, "
            "this process has 78.90 GiB memory in use. Of the allocated memory 70.50 GiB is "
            "allocated by PyTorch, and 6.50 GiB is reserved by PyTorch but unallocated."));
  EXPECT_NE(verdict.next_step.find("expandable_segments"), std::string::npos) << verdict.next_step;
}

TEST(Judge, NamesWhatWeCutShort) {
  const auto cut = [](Cut why) {
    Evidence evidence = ended(Signaled{SIGTERM});
    evidence.ending.cut = why;
    evidence.ending.cut_after_seconds = 40;
    evidence.ending.interrupting_signal = SIGINT;
    return evidence;
  };
  expect_cause(Cause::timed_out, cut(Cut::timeout));
  expect_cause(Cause::hung, cut(Cut::idle));
  expect_cause(Cause::own_memory_limit, cut(Cut::memory_watch));
  expect_cause(Cause::interrupted, cut(Cut::interrupted));
  Evidence graceful = cut(Cut::timeout);  // it caught SIGTERM and left with 0: still a timeout
  graceful.ending.leader = Exited{0};
  expect_cause(Cause::timed_out, graceful);
}

TEST(Judge, TellsACtrlCFromASignalOfSomebodyElse) {
  Evidence evidence = ended(Signaled{SIGINT});
  expect_cause(Cause::killed, evidence);
  evidence.ending.typed_interrupt = true;
  expect_cause(Cause::interrupted, evidence);
}

TEST(Judge, SaysThatTheKeeperWasKilled) {
  Evidence evidence = ended(Signaled{SIGKILL});
  evidence.ending.keeper_lost = true;
  EXPECT_NE(judge(evidence).headline.find("plimsoll's keeper process was killed"),
            std::string::npos);
  evidence.ending.keeper_given_up = true;
  EXPECT_NE(judge(evidence).headline.find("was stopped repeatedly"), std::string::npos);
  evidence.ending.cut = process::Cut::timeout;
  EXPECT_EQ(judge(evidence).cause, Cause::timed_out) << "it was lost while the tree was ended";
}

TEST(Judge, TellsAMissingCommandFromOneThatMayNotRun) {
  const Verdict verdict = judge(ended(NotStarted{ENOENT, "pythn"}));
  EXPECT_EQ(verdict.cause, Cause::missing_dependency);
  EXPECT_EQ(verdict.headline, "not started: command not found: pythn");
  expect_cause(Cause::not_started, ended(NotStarted{EACCES, "./train.sh"}));
  expect_cause(Cause::not_started, ended(NotStarted{ENOEXEC, "./train.sh"}));
  for (const Cause cause : {Cause::not_admitted, Cause::not_supervised}) {
    const Verdict refused = judge_refusal(cause, "GPU 0 is full");
    EXPECT_EQ(refused.cause, cause);
    EXPECT_NE(refused.headline.find("GPU 0 is full"), std::string::npos);
    EXPECT_NE(refused.next_step, "");
  }
  expect_cause(Cause::missing_dependency, ended(Exited{127}));
  expect_cause(Cause::missing_dependency, ended(Exited{126}));
}

TEST(Judge, NamesTheMissingModule) {
  const Verdict verdict =
      judge(ended(Exited{1},
                  "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n"
                  "ModuleNotFoundError: No module named 'torch_geometric.nn'\n"));
  EXPECT_EQ(verdict.cause, Cause::missing_dependency);
  EXPECT_EQ(verdict.headline, "missing Python module: torch_geometric.nn after 41 s");
  EXPECT_NE(verdict.next_step.find("pip install torch_geometric"), std::string::npos);
}

TEST(Judge, TakesSlurmsWordForItsOwnLimits) {
  expect_cause(Cause::own_memory_limit,
               ended(Signaled{SIGKILL},
                     "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=12.0. Some of your "
                     "processes may have been killed by the cgroup out-of-memory handler.\n"));
  expect_cause(Cause::timed_out, ended(Signaled{SIGTERM},
                                       "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT "
                                       "2024-01-01T00:00:00 DUE TO TIME LIMIT ***\n"));
}

TEST(Judge, TellsADiskFromSharedMemory) {
  expect_cause(Cause::disk_full, ended(Exited{1}, "OSError: [Errno 28] No space left on device\n"));
  expect_cause(Cause::shared_memory_full,
               ended(Exited{135},
                     "ERROR: Unexpected bus error encountered in worker. This might be "
                     "caused by insufficient shared memory (shm).\n"));
}

TEST(Judge, ReportsAnAllocationThatWasRefused) {
  expect_cause(Cause::memory_refused,
               ended(Exited{1},
                     "RuntimeError: [enforce fail at alloc_cpu.cpp:75] . "
                     "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
                     "80000000000 bytes.\n"));
  expect_cause(
      Cause::memory_refused,
      ended(Exited{134}, "terminate called after throwing an instance of 'std::bad_alloc'\n"));
}

TEST(Judge, NamesTheExceptionAndItsPlace) {
  const Verdict verdict =
      judge(ended(Exited{1},
                  "Traceback (most recent call last):\n  File \"/a/train.py\", line 41, in main\n"
                  "    x = d['y']\nKeyError: 'y'\n"));
  EXPECT_EQ(verdict.cause, Cause::failed);
  EXPECT_EQ(verdict.evidence, "the output says: KeyError: 'y' (train.py, line 41)");
  EXPECT_EQ(verdict.said, "KeyError: 'y' (train.py, line 41)");
}

TEST(Judge, KnowsABrokenPipeThatPythonTookForAnException) {
  expect_cause(Cause::broken_pipe,
               ended(Exited{1},
                     "Traceback (most recent call last):\n  File \"a.py\", line 2\n"
                     "BrokenPipeError: [Errno 32] Broken pipe\n"));
}

TEST(Judge, KnowsATimeoutWithinTheCommand) {
  Evidence evidence = ended(Exited{124});
  expect_cause(Cause::failed, evidence);
  evidence.ending.command = {"timeout", "10", "python", "train.py"};
  expect_cause(Cause::timed_out, evidence);
}

TEST(Judge, GivesEveryEndAHeadlineAndEveryFailureANextStep) {
  for (int code = 0; code < 256; ++code) {
    const Verdict verdict = judge(ended(Exited{code}));
    EXPECT_FALSE(verdict.headline.empty()) << code;
    EXPECT_EQ(verdict.next_step.empty(), code == 0) << code;
    EXPECT_EQ(to_json(verdict)["cause"], name(verdict.cause));
  }
  for (int number = 1; number < 65; ++number) {
    EXPECT_FALSE(judge(ended(Signaled{number})).next_step.empty()) << number;
  }
}

}  // namespace
}  // namespace plimsoll::diagnosis
