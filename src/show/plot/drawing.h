// The parts that all SVG figures share: elements with classes, legends, axes. For this room only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plot/axis.h"
#include "plot/svg.h"

namespace plimsoll::plot {

constexpr double kFont = 12;
constexpr double kLine = 17;  // of text

enum class Anchor { start, middle, end };

// Builds the text of one figure from top to bottom.
class Drawing {
 public:
  // `title` is drawn only in a figure that stands alone; a page has its caption.
  Drawing(const SvgOptions& options, std::string title, std::string summary);

  double width() const { return options_.width; }
  double top() const { return top_; }  // below the title and what else was put there
  void move_down(double pixels) { top_ += pixels; }

  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void rect(double x, double y, double width, double height, std::string_view classes,
            std::string_view tip = {});
  void path(std::string_view data, std::string_view classes, std::string_view dashes = {});
  void text(double x, double y, std::string_view text, Anchor anchor,
            std::string_view classes = "t");
  // The label of a tick at x. The outermost labels stay inside of the figure.
  void tick_label(double x, double y, std::string_view label);
  void marker(size_t shape, double x, double y, std::string_view classes,
              std::string_view tip = {});

  // A row of names with their signs, on as many lines as they need; moves down.
  struct LegendEntry {
    std::string name;
    size_t hue = 0;
    Stroke stroke = Stroke::line;
  };
  void legend(const std::vector<LegendEntry>& entries);

  std::string finish(double height);

 private:
  SvgOptions options_;
  std::string title_;
  std::string summary_;
  std::string body_;
  double top_ = 4;
};

// "12.5", without a needless fraction.
std::string pixels(double value);

// The class of a colour: "c3".
std::string hue_class(size_t hue);
// The dashes of a curve; empty for a solid one.
std::string_view dashes_of(size_t hue);

}  // namespace plimsoll::plot
