// Where the ticks of an axis stand and what they say.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plot/chart.h"

namespace plimsoll::plot {

struct Tick {
  double value = 0;
  std::string label;  // empty on a log scale, between the named ones
};

// The range of an axis, its unit and its ticks. Invariant: low < high; every tick is within.
struct Scale {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  double unit = 1;        // a label shows value / unit
  std::string unit_name;  // "MiB"; empty if there is none
  std::vector<Tick> ticks;

  double share(double value) const;  // 0 at low, 1 at high
};

// For values between `low` and `high`, with at most about `most` ticks. Works for any values: equal
// ones, ones that are not finite.
Scale scale_for(const Axis& axis, double low, double high, size_t most);

// "memory (MiB)".
std::string heading_of(const Axis& axis, const Scale& scale);

// One value as text with its unit: "1.5 GiB", "12 min", "81.2 %".
std::string value_text(Quantity quantity, double value);

// How wide a text is at most, in pixels. Fonts differ: it errs to the wide side.
double text_width(std::string_view text, double font_size);

// The same text, or its beginning with "…" where it is wider than that.
std::string shortened(std::string_view text, double most_width, double font_size);

}  // namespace plimsoll::plot
