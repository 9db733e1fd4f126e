#include "base/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/print.h"

namespace plimsoll {
namespace {

TEST(LiveLines, AreCutBetweenCharacters) {
  EXPECT_EQ(cut_to("epoch 3", 5), "epoch");
  EXPECT_EQ(cut_to("61 °C", 4), "61 °");
  EXPECT_EQ(cut_to("61 °C", 5), "61 °C");
  EXPECT_EQ(cut_to("", 5), "");
}

TEST(Columns, AreThoseOfTheMarksThatTheLocaleShows) {
  const char* const before = std::getenv("LC_ALL");
  const std::string kept = before == nullptr ? "" : before;
  setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(columns_of("81.2 ± 0.3"), 10U);
  EXPECT_EQ(for_locale("81.2 ± 0.3"), "81.2 ± 0.3");
  setenv("LC_ALL", "C", 1);
  EXPECT_EQ(for_locale("81.2 ± 0.3"), "81.2 +- 0.3");
  EXPECT_EQ(columns_of("81.2 ± 0.3"), 11U);
  EXPECT_EQ(columns_of("≤ 8 GiB"), 8U);
  EXPECT_EQ(columns_of("图"), 1U);  // not one of our marks: it stays
  kept.empty() ? unsetenv("LC_ALL") : setenv("LC_ALL", kept.c_str(), 1);
}

}  // namespace
}  // namespace plimsoll
