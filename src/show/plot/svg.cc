// Charts with two axes: lines, steps, points, areas, and levels across them.
#include "plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace plimsoll::plot {
namespace {

constexpr size_t kMarkersAtMost = 30;  // a line with more points has none
constexpr size_t kScatterAtMost = 1500;
constexpr double kLeastTickGap = 12;  // pixels between the labels of an axis
constexpr double kLeastStepPixels = 30;
constexpr double kLeastPlotHeight = 140;  // below a legend of many lines

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// A stack of areas with no more points than can be seen: each the largest of its stretch.
std::vector<ChartCurve> narrower(const std::vector<ChartCurve>& curves, size_t most) {
  if (curves.empty() || curves.front().points.size() <= most) return curves;
  const size_t size = curves.front().points.size();
  const size_t each = (size + most - 1) / most;
  std::vector<ChartCurve> kept = curves;
  for (ChartCurve& curve : kept) {
    std::vector<ChartPoint> points;
    for (size_t i = 0; i < curve.points.size(); i += each) {
      points.push_back(curve.points[i]);
      for (size_t j = i; j < std::min(i + each, curve.points.size()); ++j) {
        points.back().y = std::max(points.back().y, curve.points[j].y);
      }
    }
    curve.points = std::move(points);
  }
  return kept;
}

// Curves ready to be drawn; areas of a stack are raised onto those below.
std::vector<ChartCurve> prepared(const Chart& chart, double width) {
  const auto points_at_most = static_cast<size_t>(std::max(100.0, width));
  std::vector<ChartCurve> stack;
  std::vector<ChartCurve> others;
  for (const ChartCurve& curve : chart.curves) {
    (chart.stacked && curve.stroke == Stroke::area ? stack : others).push_back(curve);
  }
  stack = narrower(stack, points_at_most / 3);
  for (size_t i = 1; i < stack.size(); ++i) {
    const size_t size = std::min(stack[i].points.size(), stack[i - 1].points.size());
    stack[i].points.resize(size);
    for (size_t j = 0; j < size; ++j) stack[i].points[j].y += stack[i - 1].points[j].y;
  }
  for (ChartCurve& curve : others) {
    if (curve.stroke != Stroke::points) {
      curve.points = thinned(curve.points, points_at_most);
    } else if (curve.points.size() > kScatterAtMost) {
      curve.points.resize(kScatterAtMost);
    }
    stack.push_back(std::move(curve));
  }
  return stack;
}

struct Frame {
  double left = 0, right = 0, top = 0, bottom = 0;
  Scale x, y;

  double px(double value) const { return left + (right - left) * x.share(value); }
  double py(double value) const { return bottom - (bottom - top) * y.share(value); }
  bool shows(const ChartPoint& point) const {
    return std::isfinite(point.x) && std::isfinite(point.y) && (!x.logarithmic || point.x > 0) &&
           (!y.logarithmic || point.y > 0);
  }
};

double widest_label(const Scale& scale) {
  double widest = 0;
  for (const Tick& tick : scale.ticks) widest = std::max(widest, text_width(tick.label, kFont));
  return widest;
}

// Names of an axis that is not wide enough are shortened, and then some are left out.
void fit_names(Scale& scale, double width) {
  const double slot = width / static_cast<double>(scale.ticks.size());
  const double room = std::max(slot - 6, 44.0);
  for (Tick& tick : scale.ticks) tick.label = shortened(tick.label, room, kFont);
  const double needed = widest_label(scale) + 6;
  const auto every = static_cast<size_t>(std::ceil(needed / slot));
  for (size_t i = 0; i < scale.ticks.size(); ++i) {
    if (every > 1 && i % every != 0) scale.ticks[i].label.clear();
  }
}

// As many ticks as their labels leave room for.
Scale fitted_scale(const Axis& axis, const Extent& extent, double width) {
  for (size_t most = 9; most > 2; --most) {
    Scale scale = scale_for(axis, extent.low, extent.high, most);
    if (!axis.names.empty()) {
      fit_names(scale, width);
      return scale;
    }
    double end = -std::numeric_limits<double>::infinity();
    bool fits = true;
    for (const Tick& tick : scale.ticks) {
      if (tick.label.empty()) continue;
      const double half = text_width(tick.label, kFont) / 2;
      const double at = scale.share(tick.value) * width;
      fits = fits && at - half >= end + kLeastTickGap;
      end = at + half;
    }
    if (fits) return scale;
  }
  return scale_for(axis, extent.low, extent.high, 2);
}

void draw_axes(Drawing& drawing, const Chart& chart, const Frame& frame) {
  for (const Tick& tick : frame.y.ticks) {
    const double y = frame.py(tick.value);
    drawing.line(frame.left, y, frame.right, y, "g");
    if (!tick.label.empty()) drawing.text(frame.left - 7, y + 4, tick.label, Anchor::end, "s");
  }
  for (const Tick& tick : frame.x.ticks) {
    const double x = frame.px(tick.value);
    drawing.line(x, frame.bottom, x, frame.bottom + (tick.label.empty() ? 3 : 5), "x");
    if (tick.label.empty()) continue;
    drawing.tick_label(x, frame.bottom + 18, tick.label);
  }
  drawing.line(frame.left, frame.bottom, frame.right, frame.bottom, "x");
  drawing.text(12, frame.top - 11,
               shortened(heading_of(chart.y, frame.y), drawing.width() - 24, kFont), Anchor::start);
  drawing.text(frame.right, frame.bottom + 35,
               shortened(heading_of(chart.x, frame.x), frame.right - 12, kFont), Anchor::end);
}

std::string path_of(const std::vector<ChartPoint>& points, const Frame& frame, bool steps) {
  std::string data;
  bool open = false;
  for (const ChartPoint& point : points) {
    if (!frame.shows(point)) {
      open = false;
      continue;
    }
    const double x = frame.px(point.x);
    const double y = frame.py(point.y);
    if (open && steps) {
      data += fmt::format("H{}V{}", pixels(x), pixels(y));
    } else {
      data += fmt::format("{}{} {}", open ? "L" : "M", pixels(x), pixels(y));
    }
    open = true;
  }
  return data;
}

// The area between a curve and the one below, or the axis.
void draw_area(Drawing& drawing, const ChartCurve& curve, const ChartCurve* below, size_t hue,
               const Frame& frame) {
  std::string data = path_of(curve.points, frame, /*steps=*/false);
  if (data.empty()) return;
  const size_t size = curve.points.size();
  for (size_t i = size; i > 0; --i) {
    const double x = frame.px(curve.points[i - 1].x);
    const double y = below == nullptr
                         ? frame.bottom
                         : frame.py(below->points[std::min(i - 1, below->points.size() - 1)].y);
    data += fmt::format("L{} {}", pixels(x), pixels(y));
  }
  drawing.path(data + "Z", "a " + hue_class(hue));
}

// The name of an area inside of it, where it is high enough: colour is not the only sign.
void name_area(Drawing& drawing, const ChartCurve& curve, const ChartCurve* below,
               const Frame& frame) {
  if (curve.points.empty()) return;
  const double half = text_width(curve.name, kFont) / 2 + 3;
  const double first = frame.px(curve.points.front().x);
  const double last = frame.px(curve.points.back().x);
  double best_x = 0;
  double best_y = 0;
  double farthest = std::numeric_limits<double>::infinity();  // from the middle
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const double x = frame.px(curve.points[i].x);
    if (x + half > last || x - half < first) continue;
    const double high = frame.py(curve.points[i].y);
    const double low = below == nullptr ? frame.bottom : frame.py(below->points[i].y);
    const double from_middle = std::abs(x - (first + last) / 2);
    if (low - high < 16 || from_middle >= farthest) continue;
    farthest = from_middle;
    best_x = x;
    best_y = (low + high) / 2 + 4;
  }
  if (std::isfinite(farthest)) {
    drawing.text(best_x, best_y, curve.name, Anchor::middle, "halo");
  }
}

void draw_line(Drawing& drawing, const ChartCurve& curve, size_t hue, const Frame& frame) {
  const std::string color = hue_class(hue);
  const bool points = curve.stroke == Stroke::points;
  if (!points || curve.joined) {
    const std::string data = path_of(curve.points, frame, curve.stroke == Stroke::steps);
    if (!data.empty()) drawing.path(data, "l " + color, points ? "" : dashes_of(hue));
  }
  if (!points && (curve.points.size() > kMarkersAtMost || curve.stroke == Stroke::steps)) return;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const ChartPoint& point = curve.points[i];
    if (!frame.shows(point)) continue;
    drawing.marker(hue, frame.px(point.x), frame.py(point.y), color,
                   i < curve.labels.size() ? curve.labels[i] : std::string());
  }
}

void draw_levels(Drawing& drawing, const Chart& chart, const Frame& frame) {
  std::vector<const ChartLevel*> levels;
  for (const ChartLevel& level : chart.levels) levels.push_back(&level);
  std::ranges::sort(levels, {}, [](const ChartLevel* level) { return -level->y; });
  double text_bottom = -1e9;
  for (const ChartLevel* level : levels) {
    const double y = frame.py(level->y);
    drawing.path(fmt::format("M{} {}H{}", pixels(frame.left), pixels(y), pixels(frame.right)),
                 level->hard ? "warn" : "plan", level->hard ? "" : "6 4");
    const std::string text =
        shortened(fmt::format("{} {}", level->name, value_text(chart.y.quantity, level->y)),
                  frame.right - frame.left - 8, kFont);
    double base = y - 5;
    if (base - kFont < std::max(text_bottom, frame.top - 4)) base = std::max(y, text_bottom) + 14;
    drawing.text(frame.right - 4, base, text, Anchor::end, "halo");
    text_bottom = base + 3;
  }
}

std::string summary_of(const Chart& chart) {
  if (!chart.summary.empty()) return chart.summary;
  std::string text = fmt::format("{} by {}.", chart.y.label, chart.x.label);
  for (const ChartCurve& curve : chart.curves) {
    Extent y;
    const ChartPoint* last = nullptr;
    for (const ChartPoint& point : curve.points) {
      y.add(point.y);
      if (std::isfinite(point.y)) last = &point;
    }
    if (last == nullptr) continue;
    const auto said = [&](double value) { return value_text(chart.y.quantity, value); };
    text += fmt::format(" {}: {} points from {} to {}", curve.name, curve.points.size(),
                        said(y.low), said(y.high));
    text += curve.stroke == Stroke::points ? "." : fmt::format(", the last {}.", said(last->y));
  }
  for (const ChartLevel& level : chart.levels) {
    text += fmt::format(" {}: {}.", level.name, value_text(chart.y.quantity, level.y));
  }
  return text;
}

Frame frame_of(Drawing& drawing, const Chart& chart, const std::vector<ChartCurve>& curves,
               double height) {
  Extent x, y;
  for (const ChartCurve& curve : curves) {
    for (const ChartPoint& point : curve.points) {
      if (!std::isfinite(point.y)) continue;
      x.add(point.x);
      y.add(point.y);
    }
  }
  // The name of a level stands above it.
  for (const ChartLevel& level : chart.levels) y.add(level.y > 0 ? level.y * 1.08 : level.y);
  Frame frame;
  frame.top = drawing.top() + 26;
  frame.bottom = std::max(frame.top + kLeastPlotHeight, height - 42);
  frame.y = scale_for(
      chart.y, y.low, y.high,
      std::max<size_t>(2, static_cast<size_t>((frame.bottom - frame.top) / kLeastStepPixels)));
  frame.left = std::max(30.0, widest_label(frame.y) + 14);
  frame.right = drawing.width() - 14;
  frame.x = fitted_scale(chart.x, x, frame.right - frame.left);
  return frame;
}

}  // namespace

std::string svg_of(const Chart& chart, const SvgOptions& options) {
  Drawing drawing(options, chart.title, summary_of(chart));
  const std::vector<ChartCurve> curves = prepared(chart, options.width);
  std::vector<Drawing::LegendEntry> legend;
  size_t stacked = 0;
  for (size_t i = 0; i < curves.size(); ++i) {
    legend.push_back({curves[i].name, i, curves[i].stroke});
    if (chart.stacked && curves[i].stroke == Stroke::area) ++stacked;
  }
  if (curves.size() > 1) drawing.legend(legend);
  const Frame frame = frame_of(drawing, chart, curves, options.height);
  draw_axes(drawing, chart, frame);
  const auto below = [&](size_t i) {
    return chart.stacked && i > 0 && i < stacked ? &curves[i - 1] : nullptr;
  };
  for (size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].stroke == Stroke::area) {
      draw_area(drawing, curves[i], below(i), i, frame);
    } else {
      draw_line(drawing, curves[i], i, frame);
    }
  }
  for (size_t i = 0; i < stacked; ++i) name_area(drawing, curves[i], below(i), frame);
  draw_levels(drawing, chart, frame);
  return drawing.finish(frame.bottom + 42);
}

// Keeps the first, lowest, highest and last point of each stretch of x. No peak is lost, and the
// picture is the same to the pixel.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, size_t most) {
  if (points.size() <= most || most < 4) return points;
  const size_t stretches = std::max<size_t>(1, most / 4);
  const double first = points.front().x;
  const double width = points.back().x - first;
  if (!(width > 0)) return {points.begin(), points.begin() + static_cast<ptrdiff_t>(most)};
  const auto stretch_of = [&](const ChartPoint& point) {
    const double share = (point.x - first) / width * static_cast<double>(stretches);
    return std::min(stretches - 1, static_cast<size_t>(std::max(0.0, share)));
  };
  const auto lower = [](const ChartPoint& a, const ChartPoint& b) {
    return std::isfinite(a.y) && (!std::isfinite(b.y) || a.y < b.y);
  };
  const auto higher = [](const ChartPoint& a, const ChartPoint& b) {
    return std::isfinite(a.y) && (!std::isfinite(b.y) || a.y > b.y);
  };
  std::vector<ChartPoint> kept;
  for (size_t begin = 0; begin < points.size();) {
    size_t end = begin + 1;
    const size_t stretch = stretch_of(points[begin]);
    while (end < points.size() && stretch_of(points[end]) == stretch) ++end;
    size_t lowest = begin;
    size_t highest = begin;
    for (size_t i = begin; i < end; ++i) {
      if (lower(points[i], points[lowest])) lowest = i;
      if (higher(points[i], points[highest])) highest = i;
    }
    std::vector<size_t> places = {begin, lowest, highest, end - 1};
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const size_t place : places) kept.push_back(points[place]);
    begin = end;
  }
  return kept;
}

}  // namespace plimsoll::plot
