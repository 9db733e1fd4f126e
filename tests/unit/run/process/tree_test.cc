#include "process/tree.h"

#include <gtest/gtest.h>

#include <set>

namespace plimsoll::process {
namespace {

ProcessStat process(pid_t pid, pid_t parent) {
  ProcessStat stat;
  stat.pid = pid;
  stat.parent = parent;
  return stat;
}

std::set<pid_t> pids(const std::vector<ProcessStat>& processes) {
  std::set<pid_t> found;
  for (const ProcessStat& stat : processes) found.insert(stat.pid);
  return found;
}

TEST(Tree, DescendantsAreAllBelowAndNobodyElse) {
  const std::vector<ProcessStat> all = {process(1, 0), process(5, 1), process(6, 5), process(7, 6),
                                        process(8, 1), process(9, 8), process(3, 7)};
  EXPECT_EQ(pids(descendants(all, 5)), (std::set<pid_t>{3, 6, 7}));
  EXPECT_EQ(pids(descendants(all, 3)), std::set<pid_t>{});
  EXPECT_EQ(pids(descendants(all, 99)), std::set<pid_t>{});
}

TEST(Tree, OthersAndAllBelowThemAreNotDescendants) {
  const std::vector<ProcessStat> all = {process(5, 1), process(6, 5), process(7, 6), process(8, 5),
                                        process(9, 8)};
  EXPECT_EQ(pids(descendants(all, 5, {{6, 0}})), (std::set<pid_t>{8, 9}));
  EXPECT_EQ(pids(descendants(all, 5, {{6, 1}})), (std::set<pid_t>{6, 7, 8, 9}))
      << "another process has that pid by now";
}

TEST(Tree, DescendantsOfAListThatContradictsItselfEnd) {
  // Read while pids changed hands: two that are each other's parent.
  const std::vector<ProcessStat> all = {process(5, 6), process(6, 5), process(7, 7)};
  EXPECT_EQ(pids(descendants(all, 5)), std::set<pid_t>{6});
  EXPECT_EQ(pids(descendants(all, 7)), std::set<pid_t>{});
}

}  // namespace
}  // namespace plimsoll::process
