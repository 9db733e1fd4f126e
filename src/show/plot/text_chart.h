// Figures for a terminal: dots of Braille if the locale has them, otherwise plain characters.
#pragma once

#include <cstddef>
#include <string>

#include "plot/chart.h"

namespace plimsoll::plot {

struct TextOptions {
  size_t columns = 72;
  size_t rows = 12;
  bool unicode = true;
};

// Lines with a line end each, none of them longer than `columns`.
std::string text_of(const Chart& chart, const TextOptions& options);
std::string text_of(const BarChart& chart, const TextOptions& options);

}  // namespace plimsoll::plot
