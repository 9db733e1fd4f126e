#include "slurm/requeue.h"

#include <gtest/gtest.h>

#include <csignal>

namespace plimsoll::slurm {
namespace {

using Action = RequeueDecision::Action;

constexpr uint64_t kGiB = uint64_t{1} << 30;
const OwnJob kJob{.id = "1234_7", .array_task = "7", .memory_bytes = 4 * kGiB};
constexpr int kStopped = 9;  // of plimsoll train

EndFacts ended(int exit_code, int signal, const char* state, double run_seconds = 100) {
  return {.exit_code = exit_code,
          .signal = signal,
          .record = JobRecord{.state = state, .run_seconds = run_seconds, .limit_seconds = 3600}};
}

TEST(JobEnd, IsFinishedWithExitCode0EvenAfterAWarning) {
  EXPECT_EQ(end_of(ended(0, SIGUSR1, "RUNNING"), kJob), JobEnd::finished);
}

TEST(JobEnd, IsAFailureWithoutASignal) {
  EXPECT_EQ(end_of(ended(1, 0, "RUNNING"), kJob), JobEnd::failed);
  EXPECT_EQ(decide(ended(1, 0, "RUNNING"), kJob, {}).action, Action::exit);
  EXPECT_EQ(decide(ended(1, 0, "RUNNING"), kJob, {}).exit_code, 1);
}

TEST(JobEnd, IsTheTimeLimitAfterItsWarning) {
  EXPECT_EQ(end_of(ended(kStopped, SIGUSR1, "RUNNING"), kJob), JobEnd::time_limit);
}

TEST(JobEnd, IsTheTimeLimitIfOnlyTheCommandGotTheWarning) {
  EXPECT_EQ(end_of(ended(kStopped, 0, "RUNNING"), kJob), JobEnd::time_limit);
}

TEST(JobEnd, IsTheTimeLimitAfterSigtermAtTheLimit) {
  EXPECT_EQ(end_of(ended(kStopped, SIGTERM, "COMPLETING", 3598), kJob), JobEnd::time_limit);
}

TEST(JobEnd, IsACancelIfSigtermComesBeforeTheLimit) {
  EXPECT_EQ(end_of(ended(kStopped, SIGTERM, "COMPLETING"), kJob), JobEnd::cancelled);
  EXPECT_EQ(end_of(ended(kStopped, SIGUSR1, "COMPLETING"), kJob), JobEnd::cancelled)
      << "scancel while the checkpoint is written";
}

TEST(JobEnd, IsAPreemptionIfSlurmSaysSo) {
  EndFacts facts = ended(kStopped, SIGTERM, "RUNNING");
  facts.record->preempted = true;
  EXPECT_EQ(end_of(facts, kJob), JobEnd::preempted);
  facts.record->state = "COMPLETING";
  EXPECT_EQ(end_of(facts, kJob), JobEnd::preempted);
}

TEST(JobEnd, IsLeftToSlurmIfSlurmRequeuesByItself) {
  EndFacts facts = ended(kStopped, SIGTERM, "COMPLETING");
  facts.record->restarts = 1;
  EXPECT_EQ(end_of(facts, kJob), JobEnd::requeued);
  EXPECT_EQ(decide(facts, kJob, {}).action, Action::exit);
  OwnJob second = kJob;
  second.requeues = 1;
  EXPECT_EQ(end_of(facts, second), JobEnd::cancelled);
}

TEST(JobEnd, IsAStopIfSomebodySendsSigtermToARunningJob) {
  EXPECT_EQ(end_of(ended(kStopped, SIGTERM, "RUNNING"), kJob), JobEnd::stopped);
  EXPECT_EQ(decide(ended(kStopped, SIGTERM, "RUNNING"), kJob, {}).action, Action::exit);
}

TEST(JobEnd, IsToldByTheClockWithoutScontrol) {
  OwnJob job = kJob;
  job.deadline_seconds = 5000;
  EndFacts facts{.exit_code = kStopped, .signal = SIGTERM, .now_seconds = 4999};
  EXPECT_EQ(end_of(facts, job), JobEnd::time_limit);
  facts.now_seconds = 3000;
  EXPECT_EQ(end_of(facts, job), JobEnd::stopped);
  facts.signal = SIGUSR1;
  EXPECT_EQ(end_of(facts, job), JobEnd::time_limit);
}

TEST(Requeue, FollowsTimeLimitAndPreemption) {
  const RequeueDecision decision = decide(ended(kStopped, SIGUSR1, "RUNNING"), kJob, {});
  EXPECT_EQ(decision.action, Action::requeue);
  EXPECT_NE(decision.why.find("requeueing 1234_7 (restart 1 of at most 20)"), std::string::npos)
      << decision.why;
}

TEST(Requeue, EndsWithTheAgreedCodeWithoutScontrol) {
  const RequeueDecision decision =
      decide(ended(138, SIGUSR1, "RUNNING"), kJob, {.has_scontrol = false, .requeue_exit = 99});
  EXPECT_EQ(decision.action, Action::exit);
  EXPECT_EQ(decision.exit_code, 99);
}

TEST(Requeue, StopsAtTheMaximum) {
  OwnJob job = kJob;
  job.restarts = 3;
  const EndFacts facts = ended(kStopped, SIGUSR1, "RUNNING");
  EXPECT_EQ(decide(facts, job, {.max_requeues = 4}).action, Action::requeue);
  const RequeueDecision last = decide(facts, job, {.max_requeues = 3});
  EXPECT_EQ(last.action, Action::exit);
  EXPECT_EQ(last.exit_code, kStopped);
  EXPECT_NE(last.why.find("--max-requeues"), std::string::npos) << last.why;
}

EndFacts killed_for_memory() {
  EndFacts facts = ended(137, 0, "RUNNING");
  facts.out_of_memory = true;
  return facts;
}

TEST(MoreMemory, IsHalfAsMuchAgainUpToTheMaximum) {
  RequeuePolicy policy{.max_memory_bytes = 64 * kGiB};
  const RequeueDecision first = decide(killed_for_memory(), kJob, policy);
  EXPECT_EQ(first.action, Action::submit_again);
  EXPECT_EQ(first.memory_bytes, 6 * kGiB);
  policy.max_memory_bytes = 5 * kGiB;
  EXPECT_EQ(decide(killed_for_memory(), kJob, policy).memory_bytes, 5 * kGiB);
}

TEST(MoreMemory, IsNotAskedForBeyondTheMaximum) {
  const RequeueDecision decision =
      decide(killed_for_memory(), kJob, {.max_memory_bytes = 4 * kGiB});
  EXPECT_EQ(decision.action, Action::exit);
  EXPECT_EQ(decision.exit_code, 137);
  EXPECT_NE(decision.why.find("--max-mem 4.0 GiB allows no more"), std::string::npos);
}

TEST(MoreMemory, IsOnlyProposedWithoutAMaximum) {
  const RequeueDecision decision = decide(killed_for_memory(), kJob, {});
  EXPECT_EQ(decision.action, Action::exit);
  EXPECT_NE(decision.why.find("--mem=6144M"), std::string::npos) << decision.why;
}

TEST(MoreMemory, CountsAsARestart) {
  OwnJob job = kJob;
  job.restarts = 20;
  EXPECT_EQ(decide(killed_for_memory(), job, {.max_memory_bytes = 64 * kGiB}).action, Action::exit);
}

}  // namespace
}  // namespace plimsoll::slurm
