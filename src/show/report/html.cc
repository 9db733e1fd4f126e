#include "report/html.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/host.h"

namespace plimsoll::report {
namespace {

// A figure is drawn for each width at which its texts would get too small or too large; the style
// sheet shows one of them.
constexpr plot::SvgOptions kPhone = {.width = 320, .height = 240};
constexpr plot::SvgOptions kUsual = {.width = 460, .height = 270};
constexpr plot::SvgOptions kWide = {.width = 1100, .height = 360};

std::string framed(std::string_view caption, const std::string& svg, std::string_view classes) {
  return fmt::format("<figure class=\"{}\"><figcaption>{}</figcaption>\n{}</figure>\n", classes,
                     escaped(caption), svg);
}

template <typename Chart>
std::string in_a_column(const Chart& chart) {
  return framed(chart.title,
                fmt::format(R"(<div class="on-desk">{}</div><div class="on-phone">{}</div>)",
                            svg_of(chart, kUsual), svg_of(chart, kPhone)),
                "card");
}

template <typename Chart>
std::string in_a_row(const Chart& chart) {
  return framed(chart.title,
                fmt::format("<div class=\"on-wide\">{}</div><div class=\"on-tablet\">{}</div>"
                            "<div class=\"on-phone\">{}</div>",
                            svg_of(chart, kWide), svg_of(chart, kUsual), svg_of(chart, kPhone)),
                "card whole");
}

std::string fact_rows(const std::vector<Fact>& facts) {
  std::string out;
  for (const Fact& fact : facts) {
    if (fact.value.empty()) continue;
    out += fmt::format(
        "<div><dt>{}</dt><dd>{}{}</dd></div>\n", escaped(fact.name), escaped(fact.value),
        fact.note.empty() ? "" : fmt::format(" <small>{}</small>", escaped(fact.note)));
  }
  return out;
}

}  // namespace

std::string heading(Depth depth, size_t below, std::string_view text) {
  const size_t level = static_cast<size_t>(depth) + below;
  return fmt::format("<h{0}>{1}</h{0}>\n", level, escaped(text));
}

std::string section(Depth depth, std::string_view title, const std::string& inner_html) {
  if (inner_html.empty()) return {};
  return fmt::format("<section aria-label=\"{}\">\n{}{}</section>\n", escaped(title),
                     heading(depth, 1, title), inner_html);
}

std::string tiles(const std::vector<Fact>& facts) {
  std::string out = "<dl class=\"tiles\">\n";
  for (const Fact& fact : facts) {
    if (fact.value.empty()) continue;
    out += fmt::format(
        "<div><dt>{}</dt><dd>{}{}</dd></div>\n", escaped(fact.name), escaped(fact.value),
        fact.note.empty() ? "" : fmt::format("<small>{}</small>", escaped(fact.note)));
  }
  return out + "</dl>\n";
}

std::string fact_list(const std::vector<Fact>& facts) {
  const std::string rows = fact_rows(facts);
  return rows.empty() ? rows : "<dl class=\"facts\">\n" + rows + "</dl>\n";
}

std::string fact_columns(const std::vector<Fact>& facts) {
  const std::string rows = fact_rows(facts);
  return rows.empty() ? rows : "<dl class=\"facts columns\">\n" + rows + "</dl>\n";
}

std::string table(const HtmlTable& table) {
  const auto is_text = [&](size_t i) { return i < table.is_text.size() && table.is_text[i]; };
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n"
      "<caption>{0}</caption>\n<thead><tr>",
      escaped(table.caption));
  for (size_t i = 0; i < table.columns.size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", is_text(i) ? " class=\"text\"" : "",
                       escaped(table.columns[i]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string_view classes = is_text(i) ? " class=\"text\"" : "";
      out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", classes, escaped(row[i]))
                    : fmt::format("<td{}>{}</td>", classes, escaped(row[i]));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string figure(const plot::Chart& chart) { return in_a_column(chart); }
std::string figure(const plot::BarChart& chart) { return in_a_column(chart); }
std::string figure(const plot::GanttChart& chart) { return in_a_column(chart); }
std::string wide_figure(const plot::Chart& chart) { return in_a_row(chart); }
std::string wide_figure(const plot::GanttChart& chart) { return in_a_row(chart); }

std::string figures(const std::vector<std::string>& figures_html) {
  std::string all;
  for (const std::string& one : figures_html) all += one;
  return all.empty() ? all : "<div class=\"figures\">\n" + all + "</div>\n";
}

std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", escaped(text)); }

std::string note(std::string_view text) {
  return fmt::format("<p class=\"note\">{}</p>\n", escaped(text));
}

std::string command(std::string_view text) {
  return fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(text));
}

std::string badge(std::string_view state) {
  std::string word(state.substr(0, state.find(' ')));
  return fmt::format("<span class=\"badge {}\">{}</span>", escaped(word), escaped(state));
}

std::string time_text(double seconds_since_epoch) {
  return fmt::format("{:%Y-%m-%d %H:%M}", local_time(seconds_since_epoch));
}

}  // namespace plimsoll::report
