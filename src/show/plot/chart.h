// What a figure shows, as values: curves, points, areas, bars and lanes of time, with axes that
// know what they measure. svg.h and text_chart.h draw them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::plot {

// What the numbers of an axis are. It decides where ticks stand and in which unit: seconds become
// min or h, bytes KiB to TiB, joules kJ or Wh, a share percent.
enum class Quantity { number, count, seconds, bytes, joules, share };

struct Axis {
  std::string label;  // without a unit: the axis adds it
  Quantity quantity = Quantity::number;
  bool logarithmic = false;  // ignored if a value is 0 or less, or if all are close
  bool from_zero = false;    // the axis includes 0
  // The values are texts: value i is the i-th of them, from 0. Empty: they are numbers.
  std::vector<std::string> names = {};
};

struct ChartPoint {
  double x = 0;
  double y = 0;
};

// How a curve is drawn. A signal beside the colour (dashes, shapes) tells curves apart.
enum class Stroke { line, steps, points, area };

struct ChartCurve {
  std::string name;
  std::vector<ChartPoint> points;  // by rising x, unless Stroke::points; not finite: a gap
  Stroke stroke = Stroke::line;
  std::vector<std::string> labels = {};  // of the points, shown when a pointer is over them
  bool joined = false;                   // Stroke::points: with a line through them
};

// A horizontal line with a name, such as a limit.
struct ChartLevel {
  std::string name;
  double y = 0;
  bool hard = true;  // drawn solid in a warning colour; else dashed
};

struct Chart {
  std::string title;
  std::string summary;  // what it shows, for screen readers; empty: made from the values
  Axis x;
  Axis y;
  std::vector<ChartCurve> curves;
  std::vector<ChartLevel> levels = {};
  bool stacked = false;  // areas stand on each other: all have the same x
};

// A bar without values is a heading of those below it.
struct Bar {
  std::string name;
  std::vector<std::optional<double>> values;  // one for each of BarChart::series, from `series` on
  size_t series = 0;                          // of the first value
};

// Horizontal bars, one line a name.
struct BarChart {
  std::string title;
  std::string summary;
  Axis value;
  std::vector<std::string> series;  // "planned", "measured"
  std::vector<Bar> bars;
};

struct Span {
  double from = 0;
  double to = 0;
  size_t kind = 0;  // an index into GanttChart::kinds
  std::string label;
};

struct Lane {
  std::string name;
  std::vector<Span> spans;
};

// What ran when: a lane for each, time to the right.
struct GanttChart {
  std::string title;
  std::string summary;
  Axis time;
  std::vector<std::string> kinds;  // "succeeded", "failed", "stopped early"
  std::vector<Lane> lanes;
};

}  // namespace plimsoll::plot
