#include "ranks/launcher.h"

#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers)

#include "ranks/group.h"

namespace plimsoll::ranks {
namespace {

constexpr int kLost = 13;
// The form of waitpid(): an exit code is in the second byte, a signal in the first.
int exited(int code) { return code << 8; }

TEST(LaunchEnd, HasTheCodeOfTheRankThatFailedByItself) {
  EXPECT_EQ(exit_code_of({.ends = {{0, 0}, {1, 0}}}, kLost), 0);
  EXPECT_EQ(exit_code_of({.ends = {{1, exited(kLost)}, {2, exited(4)}, {0, exited(kLost)}}}, kLost),
            4);
  EXPECT_EQ(exit_code_of({.ends = {{0, exited(9)}, {1, exited(9)}}}, kLost), 9);
}

TEST(LaunchEnd, IsALostRankIfOneWasKilled) {
  EXPECT_EQ(exit_code_of({.ends = {{1, SIGKILL}, {0, exited(kLost)}}}, kLost), kLost);
  EXPECT_EQ(exit_code_of({.ends = {{0, 0}, {1, SIGKILL}}}, kLost), kLost);
}

TEST(LaunchEnd, DoesNotCountTheCodesOfRanksThatItAskedToEnd) {
  const std::vector<RankEnd> ends = {{1, SIGKILL}, {0, exited(128 + SIGTERM)}};
  EXPECT_EQ(exit_code_of({.ends = ends, .asked = {0}}, kLost), kLost);
  EXPECT_EQ(exit_code_of({.ends = ends}, kLost), 128 + SIGTERM);
}

TEST(LaunchEnd, NamesRanksThatASignalEnded) {
  EXPECT_EQ(describe_killed({.ends = {{0, 0}, {1, exited(4)}}}), "");
  const std::string text = describe_killed({.ends = {{2, SIGKILL}, {0, SIGKILL}}, .killed = {0}});
  EXPECT_NE(text.find("rank 2 was ended by signal 9 (Killed)"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0 did not end in time"), std::string::npos) << text;
}

TEST(RankProcess, SurvivesBeingSentAsText) {
  const RankProcess own = this_process();
  EXPECT_GT(own.pid, 0);
  EXPECT_FALSE(own.machine.empty());
  EXPECT_EQ(parse_process(to_text(own)), own);
  EXPECT_ANY_THROW(parse_process("17"));
}

TEST(RankProcess, SharesAHostWithThoseOfTheSameMachine) {
  const std::vector<RankProcess> all = {{"a", "x", 1}, {"b", "y", 1}, {"a", "x", 2}, {"b", "y", 9}};
  EXPECT_EQ(ranks_of_host(all, 2), (std::vector<unsigned>{0, 2}));
  EXPECT_EQ(ranks_of_host(all, 1), (std::vector<unsigned>{1, 3}));
}

}  // namespace
}  // namespace plimsoll::ranks
