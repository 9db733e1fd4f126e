#include "cli/counted.h"

#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

TEST(Counted, TakesTheSingularOnlyForOne) {
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(2708, "node"), "2,708 nodes");
}

TEST(Counted, KnowsThePluralInEs) {
  EXPECT_EQ(counted(1, "class"), "1 class");
  EXPECT_EQ(counted(2, "class"), "2 classes");
  EXPECT_EQ(counted(3, "batch"), "3 batches");
  EXPECT_EQ(counted(4, "process"), "4 processes");
}

}  // namespace
}  // namespace plimsoll::cli
