#include "plot/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/print.h"

namespace plimsoll::plot {
namespace {

constexpr size_t kHues = 8;
constexpr double kSign = 22;  // the width of a legend's sign

std::string_view name(Anchor anchor) {
  switch (anchor) {
    case Anchor::start:
      return "start";
    case Anchor::middle:
      return "middle";
    case Anchor::end:
      break;
  }
  return "end";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  const std::string visible = printable(text);
  for (const char c : visible) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string pixels(double value) {
  const double rounded = std::round(value * 10) / 10;
  if (rounded == std::round(rounded)) return fmt::format("{:.0f}", rounded + 0.0);
  return fmt::format("{:.1f}", rounded);
}

std::string hue_class(size_t hue) { return fmt::format("c{}", hue % kHues); }

std::string_view dashes_of(size_t hue) {
  constexpr std::array<std::string_view, 6> kDashes = {"",        "7 3",  "2 3",
                                                       "9 3 2 3", "12 4", "4 2 1 2"};
  return kDashes[hue % kDashes.size()];
}

Drawing::Drawing(const SvgOptions& options, std::string title, std::string summary)
    : options_(options), title_(std::move(title)), summary_(std::move(summary)) {
  if (!options_.alone || title_.empty()) return;
  constexpr double kTitleFont = 15;
  text(12, top_ + kTitleFont, shortened(title_, options_.width - 24, kTitleFont), Anchor::start,
       "h");
  move_down(kTitleFont + 10);
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  body_ += fmt::format("<path d=\"M{} {}L{} {}\" class=\"{}\"/>\n", pixels(x1), pixels(y1),
                       pixels(x2), pixels(y2), classes);
}

void Drawing::rect(double x, double y, double width, double height, std::string_view classes,
                   std::string_view tip) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}")", pixels(x),
                       pixels(y), pixels(width), pixels(height), classes);
  body_ += tip.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", escaped(tip));
}

void Drawing::path(std::string_view data, std::string_view classes, std::string_view dashes) {
  body_ += fmt::format("<path d=\"{}\" class=\"{}\"{}/>\n", data, classes,
                       dashes.empty() ? "" : fmt::format(R"( stroke-dasharray="{}")", dashes));
}

void Drawing::text(double x, double y, std::string_view text, Anchor anchor,
                   std::string_view classes) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                       pixels(x), pixels(y), name(anchor), classes, escaped(text));
}

void Drawing::tick_label(double x, double y, std::string_view label) {
  const double half = text_width(label, kFont) / 2;
  const double inside = std::clamp(x, half + 2, std::max(half + 2, width() - half - 2));
  text(inside, y, label, Anchor::middle, "s");
}

void Drawing::marker(size_t shape, double x, double y, std::string_view classes,
                     std::string_view tip) {
  constexpr double kRadius = 3.6;
  std::string data;
  switch (shape % 5) {
    case 0:
      data = fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0z", pixels(x - kRadius),
                         pixels(y), kRadius, 2 * kRadius);
      break;
    case 1:
      data = fmt::format("M{} {}h6.4v6.4h-6.4z", pixels(x - 3.2), pixels(y - 3.2));
      break;
    case 2:
      data = fmt::format("M{} {}l4.2 7.4h-8.4z", pixels(x), pixels(y - 4.4));
      break;
    case 3:
      data = fmt::format("M{} {}l4.6 4.6l-4.6 4.6l-4.6 -4.6z", pixels(x), pixels(y - 4.6));
      break;
    default:
      data = fmt::format("M{} {}l4.2 -7.4h-8.4z", pixels(x), pixels(y + 4.4));
  }
  body_ += fmt::format(R"(<path d="{}" class="m {}")", data, classes);
  body_ += tip.empty() ? "/>\n" : fmt::format("><title>{}</title></path>\n", escaped(tip));
}

void Drawing::legend(const std::vector<LegendEntry>& entries) {
  if (entries.empty()) return;
  double x = 12;
  double y = top_ + 12;
  for (const LegendEntry& entry : entries) {
    const std::string name = shortened(entry.name, width() - 24 - kSign - 6, kFont);
    const double taken = kSign + 6 + text_width(name, kFont) + 16;
    if (x > 12 && x + taken - 16 > width() - 8) x = 12, y += kLine;
    const std::string hue = hue_class(entry.hue);
    if (entry.stroke == Stroke::area) {
      rect(x + 4, y - 9, kSign - 8, 10, "a " + hue);
    } else {
      if (entry.stroke != Stroke::points) {
        path(fmt::format("M{} {}h{}", pixels(x), pixels(y - 4), kSign), "l " + hue,
             dashes_of(entry.hue));
      }
      marker(entry.hue, x + kSign / 2, y - 4, hue);
    }
    text(x + kSign + 6, y, name, Anchor::start);
    x += taken;
  }
  top_ = y + 8;
}

std::string Drawing::finish(double height) {
  const std::string label = summary_.empty() ? title_ : title_ + ": " + summary_;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n",
      pixels(width()), pixels(height), escaped(label));
  // A <title> here would cover the tips of points in a page, where aria-label names the figure.
  if (options_.alone) {
    out += fmt::format("<title>{}</title>\n<desc>{}</desc>\n<style>{}</style>\n", escaped(title_),
                       escaped(summary_), svg_style());
    out += fmt::format("<rect width=\"{}\" height=\"{}\" class=\"back\"/>\n", pixels(width()),
                       pixels(height));
  } else {
    out += fmt::format("<desc>{}</desc>\n", escaped(summary_));
  }
  return out + body_ + "</svg>\n";
}

std::string_view svg_style() {
  return R"(
.plot{--p0:#0072b2;--p1:#d55e00;--p2:#009e73;--p3:#b0568a;--p4:#b07800;--p5:#3d9bd1;--p6:#5c5c5c;--p7:#8a8000;
--ink:#1f2328;--soft:#57606a;--grid:#e3e6ea;--paper:#fff;--warn:#b42318;
font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;font-size:12px}
@media (prefers-color-scheme:dark){.plot{--p0:#56b4e9;--p1:#f08a4b;--p2:#2fc59a;--p3:#e2a0c6;--p4:#e69f00;--p5:#8fd0f5;
--p6:#b0b0b0;--p7:#f0e442;--ink:#e6edf3;--soft:#9da7b1;--grid:#30363d;--paper:#0d1117;--warn:#ff8a7a}}
@media print{.plot{--p0:#0072b2;--p1:#d55e00;--p2:#009e73;--p3:#b0568a;--p4:#b07800;--p5:#3d9bd1;--p6:#5c5c5c;--p7:#8a8000;
--ink:#000;--soft:#333;--grid:#ccc;--paper:#fff;--warn:#b42318}}
.plot .c0{--c:var(--p0)}.plot .c1{--c:var(--p1)}.plot .c2{--c:var(--p2)}.plot .c3{--c:var(--p3)}
.plot .c4{--c:var(--p4)}.plot .c5{--c:var(--p5)}.plot .c6{--c:var(--p6)}.plot .c7{--c:var(--p7)}
.plot .back{fill:var(--paper)}.plot .g{stroke:var(--grid);fill:none}.plot .x{stroke:var(--soft);fill:none}
.plot .l{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.plot .a{fill:var(--c);fill-opacity:.72;stroke:var(--paper);stroke-width:.6}
.plot .m{fill:var(--c);stroke:var(--paper);stroke-width:.7}
.plot .warn{stroke:var(--warn);stroke-width:2;fill:none}.plot .plan{stroke:var(--soft);stroke-width:1.6;fill:none}
.plot text{fill:var(--soft)}.plot .t{fill:var(--ink)}.plot .h{fill:var(--ink);font-size:15px;font-weight:600}
.plot .halo{fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
.plot .in{fill:#fff;font-size:10px}
)";
}

}  // namespace plimsoll::plot
