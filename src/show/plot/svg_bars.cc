// Bars and lanes: figures whose height follows from what they show.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace plimsoll::plot {
namespace {

constexpr double kBarHeight = 13;
constexpr double kLaneHeight = 20;
constexpr double kLeastSpan = 1;  // pixels: a shorter one would be invisible

std::string said_by(const BarChart& chart) {
  if (!chart.summary.empty()) return chart.summary;
  std::string text;
  for (const Bar& bar : chart.bars) {
    text += bar.name + (bar.values.empty() ? ". " : ":");
    for (size_t i = 0; i < bar.values.size(); ++i) {
      const size_t of = bar.series + i;
      const std::string series =
          of < chart.series.size() && chart.series.size() > 1 ? chart.series[of] + " " : "";
      text += fmt::format(" {}{}{}", series,
                          bar.values[i] ? value_text(chart.value.quantity, *bar.values[i])
                                        : std::string("not recorded"),
                          i + 1 < bar.values.size() ? "," : ". ");
    }
  }
  return text;
}

// Spans of one kind that are closer than a pixel become one: thousands stay small.
std::vector<Span> merged_spans(std::vector<Span> spans, double least) {
  std::ranges::sort(spans, {}, &Span::from);
  std::vector<Span> kept;
  for (Span& span : spans) {
    Span* last = kept.empty() ? nullptr : &kept.back();
    const bool joins = last != nullptr && last->kind == span.kind && span.from - last->to < least &&
                       (span.to - span.from < least || last->to - last->from < least);
    if (!joins) {
      kept.push_back(std::move(span));
      continue;
    }
    last->to = std::max(last->to, span.to);
    last->label.clear();
  }
  return kept;
}

}  // namespace

std::string svg_of(const BarChart& chart, const SvgOptions& options) {
  Drawing drawing(options, chart.title, said_by(chart));
  if (chart.series.size() > 1) {
    std::vector<Drawing::LegendEntry> legend;
    for (size_t i = 0; i < chart.series.size(); ++i) {
      legend.push_back({chart.series[i], i, Stroke::area});
    }
    drawing.legend(legend);
  }
  double names = 0;
  double values = 0;
  double highest = 0;
  for (const Bar& bar : chart.bars) {
    if (!bar.values.empty()) names = std::max(names, text_width(bar.name, kFont));
    for (const auto& value : bar.values) {
      if (value && std::isfinite(*value)) highest = std::max(highest, *value);
      values = std::max(values,
                        text_width(value ? value_text(chart.value.quantity, *value) : "-", kFont));
    }
  }
  names = std::min(names, drawing.width() * 0.4);
  const double left = 12 + names + 8;
  const double room = std::max(20.0, drawing.width() - left - values - 18);
  double y = drawing.top() + 6;
  for (const Bar& bar : chart.bars) {
    if (bar.values.empty()) {
      drawing.text(12, y + kLine - 3, shortened(bar.name, drawing.width() - 24, kFont),
                   Anchor::start, "s");
      y += kLine + 5;
      continue;
    }
    const auto lines = static_cast<double>(bar.values.size());
    drawing.text(left - 8, y + lines * kBarHeight / 2 + 4, shortened(bar.name, names, kFont),
                 Anchor::end);
    for (size_t i = 0; i < bar.values.size(); ++i) {
      const auto& value = bar.values[i];
      const double width =
          value && highest > 0 && *value > 0 ? std::max(1.0, room * *value / highest) : 0;
      if (width > 0) drawing.rect(left, y, width, kBarHeight - 2, "a " + hue_class(bar.series + i));
      drawing.text(left + width + 5, y + kBarHeight - 3,
                   value ? value_text(chart.value.quantity, *value) : "-", Anchor::start, "s");
      y += kBarHeight;
    }
    y += 7;
  }
  return drawing.finish(y + 4);
}

std::string svg_of(const GanttChart& chart, const SvgOptions& options) {
  size_t spans = 0;
  double low = 0;
  double high = 0;
  double names = 0;
  for (const Lane& lane : chart.lanes) {
    names = std::max(names, text_width(lane.name, kFont));
    for (const Span& span : lane.spans) {
      low = spans == 0 ? span.from : std::min(low, span.from);
      high = spans == 0 ? span.to : std::max(high, span.to);
      ++spans;
    }
  }
  Drawing drawing(options, chart.title,
                  chart.summary.empty()
                      ? fmt::format("{} in {} lanes, over {}.", spans, chart.lanes.size(),
                                    value_text(Quantity::seconds, high - low))
                      : chart.summary);
  std::vector<Drawing::LegendEntry> legend;
  for (size_t i = 0; i < chart.kinds.size(); ++i)
    legend.push_back({chart.kinds[i], i, Stroke::area});
  drawing.legend(legend);
  names = std::min(names, drawing.width() * 0.3);
  const double left = 12 + names + 8;
  const double width = drawing.width() - left - 14;
  Scale scale;
  for (size_t most = 8; most >= 2; --most) {
    scale = scale_for(chart.time, low, high, most);
    double widest = 0;
    for (const Tick& tick : scale.ticks) widest = std::max(widest, text_width(tick.label, kFont));
    if ((widest + 12) * static_cast<double>(scale.ticks.size() - 1) <= width) break;
  }
  const auto at = [&](double time) { return left + width * scale.share(time); };
  const double top = drawing.top() + 4;
  const double bottom = top + kLaneHeight * static_cast<double>(chart.lanes.size());
  for (const Tick& tick : scale.ticks) {
    drawing.line(at(tick.value), top, at(tick.value), bottom + 5, "g");
    drawing.tick_label(at(tick.value), bottom + 18, tick.label);
  }
  drawing.text(drawing.width() - 14, bottom + 35, heading_of(chart.time, scale), Anchor::end);
  double y = top;
  for (const Lane& lane : chart.lanes) {
    drawing.text(left - 8, y + 14, shortened(lane.name, names, kFont), Anchor::end);
    for (const Span& span : merged_spans(lane.spans, (scale.high - scale.low) / width)) {
      // Beside its colour, a kind has its height: full, then lower and lower.
      const double inset = 2 + 2.5 * static_cast<double>(std::min<size_t>(span.kind, 3));
      const double span_width = std::max(kLeastSpan, at(span.to) - at(span.from));
      drawing.rect(at(span.from), y + inset, span_width, kLaneHeight - 2 * inset,
                   "a " + hue_class(span.kind), span.label);
    }
    y += kLaneHeight;
  }
  return drawing.finish(bottom + 42);
}

}  // namespace plimsoll::plot
