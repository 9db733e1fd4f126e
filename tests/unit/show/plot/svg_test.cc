#include "plot/svg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "plot/axis.h"

namespace plimsoll::plot {
namespace {

struct Label {
  double left = 0;
  double right = 0;
  double base = 0;
  std::string text;
};

// Every text of a figure with the room that it takes at most.
std::vector<Label> labels_in(const std::string& svg) {
  static const std::regex kText(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" text-anchor=\"([a-z]+)\"[^>]*>([^<]*)</text>");
  std::vector<Label> labels;
  for (std::sregex_iterator found(svg.begin(), svg.end(), kText), end; found != end; ++found) {
    const double x = std::stod((*found)[1]);
    const std::string anchor = (*found)[3];
    const double width = text_width((*found)[4].str(), 12);
    const double left = anchor == "start" ? x : anchor == "middle" ? x - width / 2 : x - width;
    labels.push_back({left, left + width, std::stod((*found)[2]), (*found)[4]});
  }
  return labels;
}

void expect_no_overlap(const std::string& svg) {
  const std::vector<Label> labels = labels_in(svg);
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = i + 1; j < labels.size(); ++j) {
      const bool beside = labels[i].right <= labels[j].left || labels[j].right <= labels[i].left;
      const bool apart = std::abs(labels[i].base - labels[j].base) >= 11;
      EXPECT_TRUE(beside || apart) << labels[i].text << " and " << labels[j].text;
    }
  }
}

Chart curve_of(size_t points, double x_step, double y_step) {
  Chart chart{.title = "Loss",
              .summary = "",
              .x = {.label = "epoch", .quantity = Quantity::count},
              .y = {.label = "loss"},
              .curves = {{.name = "training", .points = {}}, {.name = "validation", .points = {}}}};
  for (size_t i = 0; i < points; ++i) {
    const auto x = static_cast<double>(i);
    chart.curves[0].points.push_back({x * x_step, x * y_step});
    chart.curves[1].points.push_back({x * x_step, -x * y_step / 3});
  }
  return chart;
}

TEST(Svg, LabelsDoNotOverlap) {
  for (const double step : {1e-7, 1.0, 12345.678, 9.9e8}) {
    for (const double width : {320.0, 460.0, 940.0}) {
      expect_no_overlap(svg_of(curve_of(50, step, step), {.width = width}));
    }
  }
}

TEST(Svg, NamesOfAnAxisDoNotOverlap) {
  Chart chart = curve_of(2, 1, 1);
  for (size_t i = 0; i < 40; ++i) {
    chart.x.names.push_back("a long name " + std::to_string(i));
    chart.curves[0].points.push_back({static_cast<double>(i), 1});
  }
  expect_no_overlap(svg_of(chart));
}

TEST(Svg, ALegendWithLongNamesDoesNotOverlap) {
  Chart chart = curve_of(10, 1, 1);
  chart.curves.clear();
  for (size_t i = 0; i < 8; ++i) {
    chart.curves.push_back({.name = std::string(12 * i, 'm') + " run", .points = {{0, 1}, {1, 2}}});
  }
  expect_no_overlap(svg_of(chart));
}

TEST(Svg, LevelsThatAreCloseKeepTheirNamesApart) {
  Chart chart = curve_of(10, 1, 1);
  chart.levels = {{"limit", 9.0, true}, {"planned peak", 8.9, false}};
  const std::vector<Label> labels = labels_in(svg_of(chart));
  const auto base_of = [&](const std::string& text) {
    return std::ranges::find_if(labels,
                                [&](const Label& label) { return label.text.starts_with(text); })
        ->base;
  };
  EXPECT_GE(std::abs(base_of("limit") - base_of("planned peak")), 11);
}

TEST(Svg, EscapesForeignText) {
  Chart chart = curve_of(2, 1, 1);
  chart.title = "<script>alert('x')</script> & \"quotes\"";
  chart.curves[0].name = "</svg><b>";
  for (const bool alone : {false, true}) {
    const std::string svg = svg_of(chart, {.alone = alone});
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_EQ(svg.find("<b>"), std::string::npos);
    EXPECT_EQ(svg.find("</svg>"), svg.rfind("</svg>"));
  }
}

TEST(Svg, EscapesWhatXmlCannotHave) {
  const std::string text = escaped(std::string("a\x01") + "\xff" + "b\x1b[31m");
  EXPECT_EQ(text, "a\\x01\\xffb\\x1b[31m");
}

TEST(Svg, SaysWhatItShowsToScreenReaders) {
  const std::string svg = svg_of(curve_of(3, 1, 1));
  EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
  EXPECT_NE(svg.find("aria-label=\"Loss: "), std::string::npos);
  EXPECT_NE(svg.find("3 points"), std::string::npos);
}

TEST(Svg, TellsCurvesApartWithoutColour) {
  const std::string svg = svg_of(curve_of(100, 1, 1));
  EXPECT_NE(svg.find("stroke-dasharray"), std::string::npos);
}

TEST(Svg, HasNoStyleAttributes) {
  const std::string svg = svg_of(curve_of(100, 1, 1), {.alone = true});
  EXPECT_EQ(svg.find("style=\""), std::string::npos);
}

TEST(Svg, AFileOfItsOwnHasItsColoursAndATitle) {
  const std::string svg = svg_of(curve_of(3, 1, 1), {.alone = true});
  EXPECT_NE(svg.find("<title>Loss</title>"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(svg_of(curve_of(3, 1, 1)).find("<style"), std::string::npos);
}

TEST(Svg, AnEmptyChartIsStillAPicture) {
  EXPECT_NE(svg_of(Chart{.title = "nothing"}).find("</svg>"), std::string::npos);
  EXPECT_NE(svg_of(BarChart{.title = "nothing"}).find("</svg>"), std::string::npos);
  EXPECT_NE(svg_of(GanttChart{.title = "nothing"}).find("</svg>"), std::string::npos);
}

// The last label of a queue stands at its right edge.
TEST(Svg, TheLabelsOfAQueueStayInside) {
  const GanttChart chart{.title = "queue",
                         .summary = "",
                         .time = {.label = "time", .quantity = Quantity::seconds},
                         .kinds = {"succeeded"},
                         .lanes = {{"place 1", {{0, 1.8, 0, "one"}}}}};
  const std::string svg = svg_of(chart, {.width = 320, .height = 240});
  const std::regex middle(R"re(<text x="([0-9.]+)"[^>]*"middle"[^>]*>([^<]*)<)re");
  size_t labels = 0;
  std::sregex_iterator label(svg.begin(), svg.end(), middle);
  for (; label != std::sregex_iterator(); ++label, ++labels) {
    const std::string text = (*label)[2];
    EXPECT_LE(std::stod((*label)[1]) + text_width(text, 12) / 2, 320) << text;
  }
  EXPECT_GT(labels, 2U) << svg;
}

TEST(Svg, BarsOfOneSeriesStandBelowTheirHeadings) {
  const std::string svg =
      svg_of(BarChart{.title = "memory",
                      .value = {.label = "memory", .quantity = Quantity::bytes},
                      .series = {"ours", "theirs"},
                      .bars = {{"a small graph", {}}, {"one", {1.0}}, {"two", {2.0}, 1}}});
  EXPECT_NE(svg.find("a small graph. one: ours 1 B. two: theirs 2 B."), std::string::npos) << svg;
  EXPECT_EQ(svg.find(">-<"), std::string::npos) << svg;
  const size_t heading = svg.find(">a small graph<");
  const size_t one = svg.find(">one<");
  const size_t two = svg.find(">two<");
  ASSERT_NE(heading, std::string::npos);
  EXPECT_LT(heading, one);
  EXPECT_NE(svg.find("class=\"a c0\"", one), std::string::npos);
  EXPECT_NE(svg.find("class=\"a c1\"", two), std::string::npos);
}

TEST(Svg, ValuesThatAreNotFiniteAreGaps) {
  Chart chart = curve_of(3, 1, 1);
  chart.curves[0].points[1].y = std::nan("");
  const std::string svg = svg_of(chart);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Svg, AMillionPointsStaySmall) { EXPECT_LT(svg_of(curve_of(1'000'000, 1, 1)).size(), 60'000U); }

TEST(Svg, AStackOfAMillionPointsStaysSmall) {
  Chart chart = curve_of(1'000'000, 1, 1);
  chart.stacked = true;
  for (ChartCurve& curve : chart.curves) curve.stroke = Stroke::area;
  EXPECT_LT(svg_of(chart).size(), 60'000U);
}

TEST(Svg, ThousandsOfSpansInALaneStaySmall) {
  GanttChart chart{.title = "queue",
                   .summary = "",
                   .time = {.label = "time", .quantity = Quantity::seconds},
                   .kinds = {"succeeded"},
                   .lanes = {{"place 1", {}}}};
  for (size_t i = 0; i < 100'000; ++i) {
    const auto from = static_cast<double>(i);
    chart.lanes[0].spans.push_back({from, from + 0.9, 0, "experiment " + std::to_string(i)});
  }
  EXPECT_LT(svg_of(chart).size(), 100'000U);
}

TEST(Thinned, KeepsPeaksAndEnds) {
  std::vector<ChartPoint> points;
  for (size_t i = 0; i < 100'000; ++i) points.push_back({static_cast<double>(i), 1});
  points[54'321].y = 9;
  points[77'777].y = -9;
  const auto kept = thinned(points, 400);
  EXPECT_LE(kept.size(), 400U);
  const auto has = [&](double y) {
    return std::ranges::any_of(kept, [&](const ChartPoint& point) { return point.y == y; });
  };
  EXPECT_TRUE(has(9));
  EXPECT_TRUE(has(-9));
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, 99'999);
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &ChartPoint::x));
}

TEST(Thinned, LeavesAShortCurveAsItIs) {
  const std::vector<ChartPoint> points = {{0, 1}, {1, 2}};
  EXPECT_EQ(thinned(points, 400).size(), 2U);
}

}  // namespace
}  // namespace plimsoll::plot
