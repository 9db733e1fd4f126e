#include "process/tree_sampler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace plimsoll::process {
namespace {

using std::chrono::seconds;

TreeSampler sampler() {
  return TreeSampler({.group = {},
                      .limit_bytes = {},
                      .enforced_by_kernel = false,
                      .idle_seconds = 5,
                      .output_bytes = [] { return std::optional<uint64_t>(0); },
                      .busy_elsewhere = {}});
}

TEST(TreeSampler, TakesATreeThatDoesNothingForHung) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (;;) pause();
  }
  TreeSampler samples = sampler();
  const Tree tree{.level = Level::sweep, .group = {}, .root = getpid(), .init = 0};
  const auto begin = TreeSampler::Clock::now();
  EXPECT_EQ(samples.sample(tree, begin), Cut::none);
  EXPECT_EQ(samples.sample(tree, begin + seconds(20)), Cut::idle);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(TreeSampler, DoesNotTakeATreeThatHasEndedForHung) {
  TreeSampler samples = sampler();
  const Tree tree{.level = Level::sweep, .group = {}, .root = getpid(), .init = 0};
  const auto begin = TreeSampler::Clock::now();
  EXPECT_EQ(samples.sample(tree, begin), Cut::none);
  EXPECT_EQ(samples.sample(tree, begin + seconds(20)), Cut::none);
}

}  // namespace
}  // namespace plimsoll::process
