#include "base/marks.h"

#include <gtest/gtest.h>

#include <map>

namespace plimsoll {
namespace {

Host host_with(const std::map<std::string, std::string>& variables) {
  Host host;
  host.variable = [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return host;
}

TEST(ShowsUnicode, FollowsTheFirstVariableThatIsSet) {
  EXPECT_TRUE(shows_unicode(host_with({})));
  EXPECT_TRUE(shows_unicode(host_with({{"LANG", "en_US.UTF-8"}})));
  EXPECT_TRUE(shows_unicode(host_with({{"LANG", "de_DE.utf8"}})));
  EXPECT_TRUE(shows_unicode(host_with({{"LC_ALL", "C.UTF-8"}, {"LANG", "C"}})));
  EXPECT_FALSE(shows_unicode(host_with({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}})));
  EXPECT_FALSE(shows_unicode(host_with({{"LC_CTYPE", "POSIX"}, {"LANG", "en_US.UTF-8"}})));
  EXPECT_FALSE(shows_unicode(host_with({{"LANG", "en_US.ISO-8859-1"}})));
  EXPECT_TRUE(shows_unicode(host_with({{"LC_ALL", ""}, {"LANG", "en_US.UTF-8"}})));
}

TEST(AsciiMarks, ReplaceOursAndLeaveNames) {
  EXPECT_EQ(with_ascii_marks("0.81 ± 0.02 ≤ 1, 61 °C …"), "0.81 +- 0.02 <= 1, 61 C ...");
  EXPECT_EQ(with_ascii_marks("|████▏     |"), "|####|     |");
  EXPECT_EQ(with_ascii_marks("✓ études/naïve.plim"), "ok études/naïve.plim");
  EXPECT_EQ(with_ascii_marks(""), "");
}

}  // namespace
}  // namespace plimsoll
