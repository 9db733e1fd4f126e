// Figures as SVG. Colours are those of Okabe and Ito, which colour-blind people can tell apart;
// dashes and shapes tell curves apart without colour.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plot/chart.h"

namespace plimsoll::plot {

struct SvgOptions {
  double width = 460;   // of its view box, in pixels of its texts
  double height = 270;  // bars and lanes take what they need
  // Its own colours, for a file of its own. Otherwise svg_style() must be in the page.
  bool alone = false;
};

std::string svg_of(const Chart& chart, const SvgOptions& options = {});
std::string svg_of(const BarChart& chart, const SvgOptions& options = {});
std::string svg_of(const GanttChart& chart, const SvgOptions& options = {});

// The colours of all figures, light and dark, as a style sheet. It uses no style attribute, so that
// a page with a strict content security policy can show figures.
std::string_view svg_style();

// The text for HTML and XML: <, >, &, quotes; what XML cannot have becomes visible.
std::string escaped(std::string_view text);

// At most `most` points with the same look: of each stretch of x the first, lowest, highest, last.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, size_t most);

}  // namespace plimsoll::plot
