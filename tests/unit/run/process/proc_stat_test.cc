#include "process/proc_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace plimsoll::process {
namespace {

TEST(ProcStat, ReadsANameWithBlanksAndParentheses) {
  const auto stat = parse_stat(
      "4242 (a) R (b) S 17 4242 4240 34816 4242 4194304 100 0 0 0 7 5 0 0 20 0 1 0 987654 1000 3 "
      "9");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4242);
  EXPECT_EQ(stat->name, "a) R (b");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->group, 4242);
  EXPECT_EQ(stat->session, 4240);
  EXPECT_EQ(stat->cpu_ticks, 12U);
  EXPECT_EQ(stat->start_ticks, 987654U);
  EXPECT_EQ(stat->resident_bytes, 3U * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST(ProcStat, RefusesWhatIsNoStat) {
  EXPECT_FALSE(parse_stat(""));
  EXPECT_FALSE(parse_stat("1 (x"));
  EXPECT_FALSE(parse_stat("1 (x) S 2 3"));
}

TEST(ProcStat, FindsThisProcessAmongAll) {
  const auto all = all_processes();
  const auto self = std::find_if(all.begin(), all.end(),
                                 [](const ProcessStat& stat) { return stat.pid == getpid(); });
  ASSERT_NE(self, all.end());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_TRUE(self->alive());
  EXPECT_GT(self->start_ticks, 0U);
}

TEST(ProcStat, ReadsAVariableOfAnotherProcess) {
  // /proc shows the environment as it was at the start: PATH was there, a variable set now is not.
  setenv("PLIMSOLL_SET_LATER", "1", 1);
  EXPECT_TRUE(environment_value(getpid(), "PATH"));
  EXPECT_FALSE(environment_value(getpid(), "PLIMSOLL_SET_LATER"));
  EXPECT_FALSE(environment_value(getpid(), "PAT"));
}

}  // namespace
}  // namespace plimsoll::process
