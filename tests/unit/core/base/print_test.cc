#include "base/print.h"

#include <gtest/gtest.h>

#include <map>

namespace plimsoll {
namespace {

using namespace std::string_literals;

TEST(Utf8, KnowsCharactersFromWhatIsNone) {
  EXPECT_EQ(first_character("aé")->code, U'a');
  EXPECT_EQ(first_character("é")->code, U'é');
  EXPECT_EQ(first_character("图x")->bytes, 3);
  EXPECT_EQ(first_character("😀")->code, U'😀');
  EXPECT_EQ(first_character("\xf4\x8f\xbf\xbf")->code, 0x10ffffU);
  for (const char* wrong :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe5\x9b", "\xc3("}) {
    EXPECT_FALSE(first_character(wrong)) << wrong;
  }
}

TEST(Utf8, ReplacesBytesThatAreNoCharacter) {
  EXPECT_EQ(valid_utf8("naïve 图"), "naïve 图");
  EXPECT_EQ(valid_utf8("na\xefve\xe5\x9b"), "na?ve??");
}

TEST(Printable, MakesEscapesVisible) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), R"(\x1b[31mred\x1b[0m)");
  EXPECT_EQ(printable("\a\b\x7f\r"s + '\0'), R"(\x07\x08\x7f\x0d\x00)");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            R"(\x9b2J)");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            R"(\x9b2J)");
  EXPECT_EQ(printable("a\u202eb\u2066\ufeff\U000e0041"), R"(a\u202eb\u2066\ufeff\U000e0041)");
}

TEST(Printable, LeavesTextsOfAnyLanguage) {
  const std::string text = "naïve 图 μ ± ▕█▏ 😀 'quoted' \\x1b";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable_line(text), text);
}

TEST(Printable, KeepsLineEndsOnlyWhereThereMayBeSome) {
  EXPECT_EQ(printable("a\n\tb"), "a\n\tb");
  EXPECT_EQ(printable_line("a\n\tb"), R"(a\x0a\x09b)");
}

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
