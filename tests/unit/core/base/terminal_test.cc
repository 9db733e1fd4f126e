#include "base/terminal.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(LiveLines, AreCutBetweenCharacters) {
  EXPECT_EQ(cut_to("epoch 3", 5), "epoch");
  EXPECT_EQ(cut_to("61 °C", 4), "61 °");
  EXPECT_EQ(cut_to("61 °C", 5), "61 °C");
  EXPECT_EQ(cut_to("", 5), "");
}

}  // namespace
}  // namespace plimsoll
