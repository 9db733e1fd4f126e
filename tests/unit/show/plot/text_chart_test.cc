#include "plot/text_chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/print.h"

namespace plimsoll::plot {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

size_t columns_in(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    text.remove_prefix(first_character(text)->bytes);
    ++columns;
  }
  return columns;
}

Chart falling() {
  Chart chart{.title = "Loss",
              .summary = "",
              .x = {.label = "epoch", .quantity = Quantity::count},
              .y = {.label = "loss"},
              .curves = {{.name = "training", .points = {}}}};
  for (int i = 0; i < 50; ++i) {
    chart.curves[0].points.push_back({static_cast<double>(i), 50.0 - i});
  }
  return chart;
}

TEST(TextChart, NoLineIsLongerThanTheTerminal) {
  for (const size_t columns : {20, 40, 72, 200}) {
    for (const bool unicode : {false, true}) {
      for (const std::string& line :
           lines_of(text_of(falling(), {.columns = columns, .unicode = unicode}))) {
        EXPECT_LE(columns_in(line), columns) << line;
      }
    }
  }
}

TEST(TextChart, UsesBrailleOnlyWhereTheLocaleHasIt) {
  EXPECT_NE(text_of(falling(), {.unicode = true}).find("\xe2\xa0"), std::string::npos);
  const std::string plain = text_of(falling(), {.unicode = false});
  EXPECT_TRUE(std::ranges::all_of(plain, [](char c) { return (c & 0x80) == 0; }));
  EXPECT_NE(plain.find('*'), std::string::npos);
}

TEST(TextChart, AFallingCurveFalls) {
  const auto lines = lines_of(text_of(falling(), {.columns = 60, .rows = 10, .unicode = false}));
  EXPECT_LT(lines[4].find('*'), lines[8].find('*'));
}

TEST(TextChart, SeveralCurvesHaveDifferentMarks) {
  Chart chart = falling();
  chart.curves.push_back({.name = "validation", .points = {{0, 1}, {49, 1}}});
  const std::string text = text_of(chart, {.unicode = false});
  EXPECT_NE(text.find("* training, o validation"), std::string::npos);
}

TEST(TextChart, BarsAreAsLongAsTheirShare) {
  const BarChart chart{.title = "memory",
                       .summary = "",
                       .value = {.label = "memory", .quantity = Quantity::bytes},
                       .series = {"bytes"},
                       .bars = {{"features", {4096.0}}, {"batches", {2048.0}}}};
  const auto lines = lines_of(text_of(chart, {.columns = 60, .unicode = false}));
  const auto length = [&](const std::string& line) { return std::ranges::count(line, '#'); };
  EXPECT_NEAR(static_cast<double>(length(lines[1])), 2.0 * static_cast<double>(length(lines[2])),
              1);
  EXPECT_NE(lines[1].find("4.0 KiB"), std::string::npos);
}

TEST(TextChart, AnEmptyChartHasLines) { EXPECT_FALSE(text_of(Chart{}, {}).empty()); }

}  // namespace
}  // namespace plimsoll::plot
