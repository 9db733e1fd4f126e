#include "memory/host.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

TEST(KernelText, IsNothingWhereTheFileIsMissingOrEmpty) {
  const TempFolder folder;
  write_file(folder / "empty", "");
  write_file(folder / "full", "a 1\nb 2");
  EXPECT_EQ(read_text(folder / "missing"), std::nullopt);
  EXPECT_EQ(read_text(folder / "empty"), std::nullopt);
  EXPECT_EQ(read_text(folder.path()), std::nullopt);
  EXPECT_EQ(read_text(folder / "full"), "a 1\nb 2");
}

TEST(KernelText, BeginsWithANumberOrWithNone) {
  EXPECT_EQ(leading_number("17\n"), 17U);
  EXPECT_EQ(leading_number("\t  17 kB"), 17U);
  EXPECT_EQ(leading_number("18446744073709551615"), 18446744073709551615U);
  for (const char* none : {"", " ", "max\n", "-1", "18446744073709551616"}) {
    EXPECT_EQ(leading_number(none), std::nullopt) << none;
  }
}

TEST(KernelText, TellsTheNumberBehindAWord) {
  const std::string text = "anon 4096\nanon_thp 7\nVmRSS:\t  12 kB\nfile\nnext 9";
  EXPECT_EQ(number_of(text, "anon"), 4096U);
  EXPECT_EQ(number_of(text, "anon_thp"), 7U);
  EXPECT_EQ(number_of(text, "VmRSS:"), 12U);
  EXPECT_EQ(number_of(text, "next"), 9U);
  EXPECT_EQ(number_of(text, "file"), std::nullopt);
  EXPECT_EQ(number_of(text, "thp"), std::nullopt);
  EXPECT_EQ(number_of("", "anon"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::memory
