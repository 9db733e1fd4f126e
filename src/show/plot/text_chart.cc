#include "plot/text_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "base/print.h"
#include "plot/axis.h"

namespace plimsoll::plot {
namespace {

size_t characters_of(std::string_view text) {
  size_t count = 0;
  while (!text.empty()) {
    const auto found = first_character(text);
    text.remove_prefix(found ? found->bytes : 1);
    ++count;
  }
  return count;
}

// The first `most` characters, in ASCII if asked.
std::string cut(std::string_view text, size_t most, bool unicode) {
  std::string kept;
  for (size_t count = 0; !text.empty() && count < most; ++count) {
    const auto found = first_character(text);
    const size_t bytes = found ? found->bytes : 1;
    if (unicode || (found && found->code < 0x80)) {
      kept += text.substr(0, bytes);
    } else if (found && found->code == 0xb5) {
      kept += 'u';  // µs
    } else {
      kept += found && found->code == 0x2212 ? '-' : '?';
    }
    text.remove_prefix(bytes);
  }
  return kept;
}

std::string padded(const std::string& text, size_t columns) {
  const size_t taken = characters_of(text);
  return (taken < columns ? std::string(columns - taken, ' ') : "") + text;
}

// Dots on a grid of cells. A cell of Braille has two by four of them, a plain one is one.
class DotGrid {
 public:
  DotGrid(size_t columns, size_t rows, bool braille)
      : columns_(columns), rows_(rows), braille_(braille), cells_(columns * rows) {}

  size_t wide() const { return columns_ * (braille_ ? 2 : 1); }
  size_t high() const { return rows_ * (braille_ ? 4 : 1); }

  void set(size_t x, size_t y, char mark) {  // y from the top
    if (x >= wide() || y >= high()) return;
    if (!braille_) {
      cells_[y * columns_ + x] = static_cast<unsigned char>(mark);
      return;
    }
    constexpr std::array<std::array<unsigned char, 2>, 4> kDots = {
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    cells_[y / 4 * columns_ + x / 2] |= kDots[y % 4][x % 2];
  }

  std::string row(size_t row) const {
    std::string text;
    for (size_t i = 0; i < columns_; ++i) {
      const unsigned cell = cells_[row * columns_ + i];
      if (cell == 0) {
        text += ' ';
      } else if (braille_) {  // U+2800 + cell
        text += static_cast<char>(0xe2);
        text += static_cast<char>(0xa0 + (cell >> 6));
        text += static_cast<char>(0x80 + (cell & 0x3f));
      } else {
        text += static_cast<char>(cell);
      }
    }
    while (text.ends_with(' ')) text.pop_back();
    return text;
  }

 private:
  size_t columns_;
  size_t rows_;
  bool braille_;
  std::vector<unsigned char> cells_;
};

struct Ends {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

constexpr std::string_view kMarks = "*o+x#";

void draw_curve(DotGrid& grid, const ChartCurve& curve, const Scale& x, const Scale& y, char mark) {
  const auto place = [](double share, size_t size) {
    return int64_t{std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(size - 1))};
  };
  bool open = false;
  int64_t last_x = 0;
  int64_t last_y = 0;
  for (const ChartPoint& point : curve.points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) {
      open = false;
      continue;
    }
    const int64_t at_x = place(x.share(point.x), grid.wide());
    const int64_t at_y =
        static_cast<int64_t>(grid.high()) - 1 - place(y.share(point.y), grid.high());
    const int64_t steps = open && curve.stroke != Stroke::points
                              ? std::max(std::abs(at_x - last_x), std::abs(at_y - last_y))
                              : 0;
    for (int64_t i = 0; i <= steps; ++i) {
      const double share = steps == 0 ? 1 : static_cast<double>(i) / static_cast<double>(steps);
      const double dot_x = static_cast<double>(last_x) + share * static_cast<double>(at_x - last_x);
      const double dot_y = static_cast<double>(last_y) + share * static_cast<double>(at_y - last_y);
      grid.set(static_cast<size_t>(std::lround(dot_x)), static_cast<size_t>(std::lround(dot_y)),
               mark);
    }
    last_x = at_x;
    last_y = at_y;
    open = true;
  }
}

// The labels of the x axis under their places, as far as they do not touch.
std::string tick_line(const Scale& scale, size_t left, size_t columns, size_t all, bool unicode) {
  std::string line;
  size_t taken = 0;
  for (const Tick& tick : scale.ticks) {
    const std::string label = cut(tick.label, columns, unicode);
    const size_t size = characters_of(label);
    if (size == 0) continue;
    const auto centre = static_cast<size_t>(
        std::lround(scale.share(tick.value) * static_cast<double>(columns - 1)));
    size_t begin = left + centre;
    begin = begin > size / 2 ? begin - size / 2 : 0;
    if (begin + size > all) begin = all - std::min(all, size);
    if (taken > 0 && begin < taken + 2) continue;
    line += std::string(begin - taken, ' ') + label;
    taken = begin + size;
  }
  return line;
}

}  // namespace

std::string text_of(const Chart& chart, const TextOptions& options) {
  Ends x_ends, y_ends;
  for (const ChartCurve& curve : chart.curves) {
    for (const ChartPoint& point : curve.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      x_ends.add(point.x);
      y_ends.add(point.y);
    }
  }
  const Scale y =
      scale_for(chart.y, y_ends.low, y_ends.high, std::max<size_t>(2, options.rows / 3));
  const Scale x =
      scale_for(chart.x, x_ends.low, x_ends.high, std::max<size_t>(2, options.columns / 12));
  size_t left = 0;
  for (const Tick& tick : y.ticks) left = std::max(left, characters_of(tick.label));
  left += 2;  // a blank and the axis
  const size_t columns = std::max<size_t>(8, options.columns - std::min(options.columns, left));
  const bool several = chart.curves.size() > 1;
  const bool braille = options.unicode && !several;
  DotGrid grid(columns, options.rows, braille);
  for (size_t i = 0; i < chart.curves.size(); ++i) {
    draw_curve(grid, chart.curves[i], x, y, kMarks[i % kMarks.size()]);
  }
  std::vector<std::string> labels(options.rows);
  for (const Tick& tick : y.ticks) {
    const double from_top = (1 - y.share(tick.value)) * static_cast<double>(options.rows - 1);
    labels[static_cast<size_t>(std::lround(from_top))] = cut(tick.label, left, options.unicode);
  }
  const std::string axes = heading_of(chart.y, y) + " by " + heading_of(chart.x, x);
  std::string title = chart.title == axes ? axes : chart.title + ": " + axes;
  for (size_t i = 0; several && i < chart.curves.size(); ++i) {
    title += fmt::format("{} {} {}", i == 0 ? ";" : ",", kMarks[i % kMarks.size()],
                         chart.curves[i].name);
  }
  std::string text = cut(title, options.columns, options.unicode) + "\n";
  for (size_t row = 0; row < options.rows; ++row) {
    const bool tick = !labels[row].empty();
    const std::string_view axis = options.unicode ? (tick ? "┤" : "│") : (tick ? "+" : "|");
    text += fmt::format("{} {}{}\n", padded(labels[row], left - 2), axis, grid.row(row));
  }
  return text +
         tick_line(x, left, columns, std::max(options.columns, left + columns), options.unicode) +
         "\n";
}

std::string text_of(const BarChart& chart, const TextOptions& options) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  size_t names = 0;
  size_t figures = 0;
  double highest = 0;
  for (const Bar& bar : chart.bars) {
    if (!bar.values.empty()) names = std::max(names, characters_of(bar.name));
    for (const auto& value : bar.values) {
      if (!value || !std::isfinite(*value)) continue;
      highest = std::max(highest, *value);
      figures = std::max(figures, characters_of(value_text(chart.value.quantity, *value)));
    }
  }
  names = std::min(names, options.columns / 3);
  const size_t taken = names + figures + 4;
  const size_t room = options.columns > taken + 8 ? options.columns - taken : 8;
  std::string text = cut(chart.title, options.columns, options.unicode) + "\n";
  for (const Bar& bar : chart.bars) {
    if (bar.values.empty()) text += cut(bar.name, options.columns, options.unicode) + "\n";
    for (size_t i = 0; i < bar.values.size(); ++i) {
      const double share =
          highest > 0 && bar.values[i] ? std::max(0.0, *bar.values[i]) / highest : 0;
      const double cells = share * static_cast<double>(room);
      std::string drawn;
      for (size_t cell = 0; cell < static_cast<size_t>(cells); ++cell) {
        drawn += options.unicode ? "█" : "#";
      }
      if (options.unicode) drawn += kEighths[static_cast<size_t>((cells - std::floor(cells)) * 8)];
      const std::string figure =
          bar.values[i] ? value_text(chart.value.quantity, *bar.values[i]) : "-";
      const std::string name = i == 0 ? cut(bar.name, names, options.unicode) : "";
      const std::string filled = name + std::string(names - characters_of(name), ' ');
      std::string line = fmt::format("{}  {}  {}", filled,
                                     padded(cut(figure, figures, options.unicode), figures), drawn);
      while (line.ends_with(' ')) line.pop_back();
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace plimsoll::plot
