// HTML in pieces. Everything that takes a text escapes it; parameters that are HTML already
// say so in their names. For this room only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plot/svg.h"

namespace plimsoll::report {

using plot::escaped;

// The level of a run's own heading: 1 on its page, 2 in a comparison.
enum class Depth { page = 1, part = 2 };

std::string heading(Depth depth, size_t below, std::string_view text);

// A region with a heading; nothing if `inner_html` is empty.
std::string section(Depth depth, std::string_view title, const std::string& inner_html);

struct Fact {
  std::string name;
  std::string value;
  std::string note = {};
};
// A few large figures.
std::string tiles(const std::vector<Fact>& facts);
// A list of names and values; those without a value are left out.
std::string fact_list(const std::vector<Fact>& facts);
// The same in as many columns as there is room for.
std::string fact_columns(const std::vector<Fact>& facts);

struct HtmlTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> is_text = {};  // of a column: at the left, and its lines may break
};
std::string table(const HtmlTable& table);

std::string figure(const plot::Chart& chart);
std::string figure(const plot::BarChart& chart);
std::string figure(const plot::GanttChart& chart);
// As wide as the page, with a narrow drawing for narrow screens.
std::string wide_figure(const plot::Chart& chart);
std::string wide_figure(const plot::GanttChart& chart);
std::string figures(const std::vector<std::string>& figures_html);

std::string paragraph(std::string_view text);
std::string note(std::string_view text);  // something that a reader must know
std::string command(std::string_view text);
std::string badge(std::string_view state);

// "2026-11-15 08:15", local time.
std::string time_text(double seconds_since_epoch);

}  // namespace plimsoll::report
