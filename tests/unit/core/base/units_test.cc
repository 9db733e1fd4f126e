#include "base/units.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace plimsoll {
namespace {

TEST(ParseBytes, ReadsPlainNumbersAsBytes) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("4096"), 4096U);
  EXPECT_EQ(parse_bytes("17B"), 17U);
  EXPECT_EQ(parse_bytes("1e3"), 1000U);
}

TEST(ParseBytes, TakesEveryUnitAsAPowerOf1024) {
  for (const char* text : {"3K", "3k", "3KB", "3KiB", "3 kib", "3  K"}) {
    EXPECT_EQ(parse_bytes(text), 3 * kKiB) << text;
  }
  EXPECT_EQ(parse_bytes("512M"), 512 * kMiB);
  EXPECT_EQ(parse_bytes("8GB"), 8 * kGiB);
  EXPECT_EQ(parse_bytes("2TiB"), 2048 * kGiB);
}

TEST(ParseBytes, TakesFractionsOfAUnit) {
  EXPECT_EQ(parse_bytes("1.5GiB"), kGiB + kGiB / 2);
  EXPECT_EQ(parse_bytes("0.25 K"), 256U);
  EXPECT_EQ(parse_bytes("1.9"), 1U);
}

TEST(ParseBytes, RefusesWhatIsNoSizeAndNamesIt) {
  for (const char* text : {"", "G", "-1", "-1G", "8X", "8Gi", "8iB", "8G8", "8P", " 8G", "8,5G",
                           "inf", "nan", "infG", "0x10", "1e30", "9e18K", "lots"}) {
    expect_error(ErrorKind::usage, {"'" + std::string(text) + "'", "8G, 512M or 1.5GiB"},
                 [&] { parse_bytes(text); });
  }
}

TEST(ParseBytes, StopsShortOfTheEndOfSixtyFourBits) {
  EXPECT_EQ(parse_bytes("8000000T"), 8000000 * (1024 * kGiB));
  expect_error(ErrorKind::usage, {"'8388608T'"}, [] { parse_bytes("8388608T"); });
}

TEST(Units, RoundsUpWhatMustBeGiven) {
  EXPECT_EQ(format_bytes_up(kMiB), "1.0 MiB");
  EXPECT_EQ(format_bytes_up(kMiB + 1), "1.1 MiB");
  EXPECT_EQ(format_bytes_up(kGiB * 79 / 10 - 1), "7.9 GiB");
  EXPECT_EQ(format_bytes_up(1000), "1000 B");
}

TEST(FormatBytes, ChoosesTheUnitThatKeepsTheNumberBelow1024) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(kMiB), "1.0 MiB");
  EXPECT_EQ(format_bytes(kGiB * 79 / 10), "7.9 GiB");
  EXPECT_EQ(format_bytes(1536 * kGiB), "1.5 TiB");
  EXPECT_EQ(format_bytes(4096 * 1024 * kGiB), "4096.0 TiB");
}

TEST(FormatBytes, NeverRoundsUpTo1024OfAUnit) {
  EXPECT_EQ(format_bytes(kMiB - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(kGiB - 1), "1.0 GiB");
  EXPECT_EQ(format_bytes(kMiB - 60), "1023.9 KiB");
}

TEST(FormatBytes, IsReadBackByParseBytes) {
  for (const uint64_t bytes : {3 * kKiB, 5 * kMiB / 2, 7 * kGiB}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
}

TEST(FormatCount, GroupsDigitsByThree) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(111059956), "111,059,956");
  EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(FormatSeconds, ShowsTwoUnitsAtMost) {
  EXPECT_EQ(format_seconds(0), "0.0 s");
  EXPECT_EQ(format_seconds(4.24), "4.2 s");
  EXPECT_EQ(format_seconds(192), "3 min 12 s");
  EXPECT_EQ(format_seconds(3840), "1 h 04 min");
  EXPECT_EQ(format_seconds(100 * 3600.0), "100 h 00 min");
}

TEST(FormatSeconds, RoundsIntoTheNextUnit) {
  EXPECT_EQ(format_seconds(59.94), "59.9 s");
  EXPECT_EQ(format_seconds(59.96), "1 min 00 s");
  EXPECT_EQ(format_seconds(119.6), "2 min 00 s");
  EXPECT_EQ(format_seconds(3599.4), "59 min 59 s");
  EXPECT_EQ(format_seconds(3599.6), "1 h 00 min");
}

TEST(FormatPercent, ShowsATenthOnlyBelowTenPercent) {
  EXPECT_EQ(format_percent(0), "0 %");
  EXPECT_EQ(format_percent(0.071), "7.1 %");
  EXPECT_EQ(format_percent(0.0994), "9.9 %");
  EXPECT_EQ(format_percent(0.0996), "10 %");
  EXPECT_EQ(format_percent(0.5), "50 %");
  EXPECT_EQ(format_percent(1), "100 %");
}

TEST(Counted, TakesTheSingularOnlyForOne) {
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(2708, "node"), "2,708 nodes");
}

TEST(Counted, KnowsThePluralInEs) {
  EXPECT_EQ(counted(1, "class"), "1 class");
  EXPECT_EQ(counted(2, "class"), "2 classes");
  EXPECT_EQ(counted(3, "batch"), "3 batches");
  EXPECT_EQ(counted(3, "epoch"), "3 epochs");
  EXPECT_EQ(counted(4, "process"), "4 processes");
}

}  // namespace
}  // namespace plimsoll
