#include "formats/csv.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "formats/test_files.h"

namespace plimsoll::formats {
namespace {

std::unique_ptr<ByteStream> stream_of(const std::string& text) {
  return open_memory(std::as_bytes(std::span(text)), "a.csv");
}

std::vector<std::string> lines_of(const std::string& text) {
  CsvReader reader(stream_of(text));
  std::vector<std::string> lines;
  while (const auto line = reader.next()) {
    EXPECT_EQ(line->number, reader.first_line() + lines.size());
    std::string content(line->text);
    while (content.ends_with('\r')) content.pop_back();
    lines.push_back(content);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Csv, ReadsLinesHoweverTheyEnd) {
  const Lines expected = {"0,1", "2,3"};
  EXPECT_EQ(lines_of("0,1\n2,3\n"), expected);
  EXPECT_EQ(lines_of("0,1\n2,3"), expected);
  EXPECT_EQ(lines_of("0,1\r\n2,3\r\n"), expected);
  EXPECT_EQ(lines_of("0,1\n2,3\n\n"), expected);
  EXPECT_EQ(lines_of("0,1\n2,3\n \r\n\r\n"), expected);
  EXPECT_EQ(lines_of("\xef\xbb\xbf"
                     "0,1\n2,3\n"),
            expected);
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_TRUE(lines_of("\n").empty());
}

TEST(Csv, ReadsLinesLongerThanItsBuffer) {
  const std::string longest(3'000'000, '7');
  EXPECT_EQ(lines_of("1\n" + longest + "\n2\n"), (Lines{"1", longest, "2"}));
}

TEST(Csv, ReadsLinesAcrossTheEndOfItsBuffer) {
  std::string text;
  Lines expected;
  for (int i = 0; i < 100'000; ++i) {
    expected.push_back(std::to_string(i) + "," + std::to_string(i * 3));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(text), expected);
}

TEST(Csv, RefusesLinesBeyondTheLimit) {
  const std::string text(9 << 20, '7');
  expect_error(ErrorKind::input, {"a.csv, line 1 is longer than 8"}, [&] { lines_of(text); });
}

TEST(Csv, RefusesAnEmptyLineBeforeOthers) {
  expect_error(ErrorKind::input, {"a.csv, line 2 is empty, but line 4 is not"},
               [] { lines_of("0,1\n\n\n2,3\n"); });
}

TEST(Csv, PassesOverAHeaderAndKeepsItsNames) {
  EXPECT_EQ(lines_of("src,dst\n0,1\n"), (Lines{"0,1"}));
  EXPECT_EQ(lines_of("\"src\", \"dst\"\r\n0,1\n"), (Lines{"0,1"}));
  EXPECT_EQ(lines_of("\xef\xbb\xbflabel\n7\n"), (Lines{"7"}));
  EXPECT_EQ(CsvReader(stream_of("\"src\", dst \n0,1\n")).header(), (Lines{"src", "dst"}));
  EXPECT_TRUE(CsvReader(stream_of("0,1\n")).header().empty());
  EXPECT_TRUE(lines_of("label\n").empty());
}

TEST(Csv, TakesADamagedFirstLineForNoHeader) {
  for (const std::string first :
       {"0,1", "0,abc", "nan,nan", "1 2", "-x,y", "a,,b", "1x,2x", "\"0\",\"1\"", ",a,b"}) {
    EXPECT_EQ(lines_of(first + "\n0,1\n"), (Lines{first, "0,1"}));
  }
}

TEST(Csv, CountsLinesBehindTheHeader) {
  EXPECT_EQ(CsvReader(stream_of("1\nx\n3")).count_rest(), 3U);
  EXPECT_EQ(CsvReader(stream_of("a\n1\n2\n\n")).count_rest(), 2U);
}

std::vector<float> features_of(const std::string& text, size_t columns) {
  std::vector<float> values(columns);
  parse_features("a.csv", {text, 17}, values);
  return values;
}

TEST(Csv, ParsesFeatures) {
  EXPECT_EQ(features_of("1,-2.5e1, 0.125 ,7\r", 4), (std::vector<float>{1, -25, 0.125, 7}));
  EXPECT_EQ(features_of("0.1", 1).at(0), 0.1F);
  EXPECT_TRUE(std::isnan(features_of("nan", 1).at(0)));
  EXPECT_TRUE(std::isinf(features_of("-inf", 1).at(0)));
}

TEST(Csv, TakesNumbersTooSmallForAFloatAsNearlyZero) {
  EXPECT_EQ(features_of("1e-60,-1e-999", 2), (std::vector<float>{0, 0}));
  EXPECT_EQ(features_of("1e-40", 1).at(0), 1e-40F);
}

TEST(Csv, RefusesNumbersTooLargeForAFloat) {
  expect_error(ErrorKind::input, {"a.csv, line 17, field 2: '1e999' is out of range"},
               [] { features_of("1,1e999", 2); });
  expect_error(ErrorKind::input, {"field 1: '-1e39' is out of range"},
               [] { features_of("-1e39", 1); });
}

TEST(Csv, NamesTheLineOfARaggedRow) {
  expect_error(ErrorKind::input, {"a.csv, line 17 has 3 fields, 128 expected"},
               [] { features_of("1,2,3", 128); });
  expect_error(ErrorKind::input, {"a.csv, line 17 has 3 fields, 2 expected"},
               [] { features_of("1,2,3", 2); });
  expect_error(ErrorKind::input, {"a.csv, line 17 has 1 field, 2 expected, separated by commas"},
               [] { features_of("1 2", 2); });
}

TEST(Csv, NamesTheFieldThatIsNoNumber) {
  expect_error(ErrorKind::input, {"a.csv, line 17, field 2: 'abc' is not a number"},
               [] { features_of("1,abc,3", 3); });
  expect_error(ErrorKind::input, {"field 1: '' is not a number"}, [] { features_of(",2", 2); });
  expect_error(ErrorKind::input, {"field 1: '1?2' is not a number"},
               [] { features_of(std::string("1\0", 2) + "2", 1); });
  expect_error(ErrorKind::input, {"field 1: '" + std::string(40, 'x') + "...' is not"},
               [] { features_of(std::string(1000, 'x'), 1); });
}

TEST(Csv, SaysThatAFirstLineLooksLikeAHeader) {
  const auto refuse = [](const std::string& text, const std::vector<std::string>& parts) {
    std::vector<float> values(count_fields(text));
    expect_error(ErrorKind::input, parts, [&] { parse_features("a.csv", {text, 1}, values); });
  };
  refuse("node,0,1\r", {"a.csv, line 1, field 1: 'node' is not a number",
                        "'node,0,1', looks like a "
                        "header",
                        "remove the line"});
  refuse(",f0,f1", {"line 1, field 1: '' is not a number", "',f0,f1', looks like a header"});
  refuse("\"1\",\"2\"", {"field 1: '\"1\"' is not a number; write numbers without quotes"});
}

std::vector<uint32_t> ids_of(const std::string& text, size_t count = 2) {
  std::vector<uint32_t> ids(count);
  parse_ids("a.csv", {text, 4}, ids, 5);
  return ids;
}

TEST(Csv, ParsesIds) { EXPECT_EQ(ids_of("4, 0\r"), (std::vector<uint32_t>{4, 0})); }

TEST(Csv, RefusesIdsThatAreNoNodes) {
  expect_error(ErrorKind::input, {"a.csv, line 4, field 2: id 7 but there are only 5 nodes"},
               [] { ids_of("1,7"); });
  expect_error(ErrorKind::input, {"line 4, field 1: id -3;"}, [] { ids_of("-3,1"); });
  expect_error(ErrorKind::input, {"id 4294967296 but there are only 5 nodes"},
               [] { ids_of("4294967296,1"); });
  expect_error(ErrorKind::input, {"'99999999999999999999' is out of range"},
               [] { ids_of("99999999999999999999,1"); });
  expect_error(ErrorKind::input, {"'1.0' is not a whole number"}, [] { ids_of("1.0,1"); });
  expect_error(ErrorKind::input, {"'x' is not a number"}, [] { ids_of("x,1"); });
}

TEST(Csv, ParsesLabels) {
  EXPECT_EQ(parse_label("a.csv", {"39", 1}), 39);
  EXPECT_EQ(parse_label("a.csv", {" 3.0 ", 1}), 3);
  EXPECT_EQ(parse_label("a.csv", {"nan", 1}), -1);
  EXPECT_EQ(parse_label("a.csv", {"NaN\r", 1}), -1);
  EXPECT_EQ(parse_label("a.csv", {"-1", 1}), -1);
  EXPECT_EQ(parse_label("a.csv", {"2147483646", 1}), 2147483646);
}

TEST(Csv, RefusesNumbersThatAreNoLabels) {
  const auto refuse = [](const std::string& text, const std::string& words) {
    expect_error(ErrorKind::input, {"a.csv, line 9", words}, [&] {
      parse_label("a.csv", {text, 9});
    });
  };
  refuse("-2", "label -2;");
  refuse("1.5", "label 1.5;");
  refuse("2147483647", "label 2147483647; labels are whole numbers from 0 to 2147483646");
  refuse("x", "'x' is not a number");
  refuse("1,2", "2 fields, 1 expected");
}

TEST(Csv, ParsesCounts) {
  EXPECT_EQ(parse_count("a.csv", {"5000000000", 1}), 5'000'000'000U);
  expect_error(ErrorKind::input, {"line 1", "'-5' is not a whole number"}, [] {
    parse_count("a.csv", {"-5", 1});
  });
}

}  // namespace
}  // namespace plimsoll::formats
