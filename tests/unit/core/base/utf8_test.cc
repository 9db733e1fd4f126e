#include "base/utf8.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace plimsoll
