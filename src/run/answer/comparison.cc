#include "answer/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "answer/results_table.h"
#include "base/error.h"
#include "base/units.h"
#include "statistics/hypothesis.h"

namespace plimsoll::answer {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostPairsShown = 10;

std::string p_text(double p) {
  return p < 0.0001 ? "< 0.0001" : p < 0.1 ? fmt::format("{:.2g}", p) : fmt::format("{:.2f}", p);
}

// The spread that decides how many digits of a difference mean something.
std::optional<double> spread_of(const SampleDifference& found) {
  if (!found.a.deviation && !found.b.deviation) return std::nullopt;
  return std::max(found.a.deviation.value_or(0), found.b.deviation.value_or(0));
}

std::string interval_text(const SampleDifference& found) {
  const auto spread = spread_of(found);
  std::string text = statistics::format_with_spread(found.difference, spread);
  if (!found.interval) return text;
  text += fmt::format(" [{}, {}]", statistics::format_with_spread(found.interval->low, spread),
                      statistics::format_with_spread(found.interval->high, spread));
  constexpr double kUsual = 0.9499;
  if (found.interval->level < kUsual) {
    text += fmt::format(" ({:.0f} %)", std::floor(100 * found.interval->level));
  }
  return text;
}

// The figure with its unit.
std::string shown_figure(const std::string& figure) {
  return figure == kEnergy ? "energy (J)" : heading_of(figure);
}

struct TestNames {
  const char* test;
  const char* effect_sign;
  const char* effect;  // in JSON
};

TestNames names_of(DifferenceTest test) {
  if (test == DifferenceTest::welch) return {"Welch's t", "g", "hedges_g"};
  return {"Mann-Whitney U", "r", "rank_biserial"};
}

// "accuracy, A and B: B is higher (p 0.003)" and what is needed if it is not certain.
std::string verdict_on(const ComparisonRow& row) {
  const SampleDifference& found = row.found;
  const std::string pair = fmt::format("{}, {} and {}", shown_figure(row.figure), row.a, row.b);
  if (!found.p) {
    return fmt::format("{}: no test, {}", pair, found.reason);
  }
  const double p = found.adjusted_p.value_or(*found.p);
  std::string text = p < kSignificant
                         ? fmt::format("{}: {} is {} (p {})", pair, row.b,
                                       found.difference < 0 ? "lower" : "higher", p_text(p))
                         : fmt::format("{}: no difference shown (p {})", pair, p_text(p));
  if (p < kSignificant && !found.stated) return text;
  const std::string looked_for =
      statistics::format_with_spread(std::abs(found.looked_for), spread_of(found));
  const size_t have = std::min(found.a.count, found.b.count);
  if (found.repeats_needed && *found.repeats_needed > have) {
    text += fmt::format("; needs {} of each to see a difference of {}",
                        counted(*found.repeats_needed - have, "more repeat"), looked_for);
  } else if (!found.repeats_needed && p >= kSignificant && found.looked_for != 0) {
    text +=
        fmt::format("; needs more than a million repeats to see a difference of {}", looked_for);
  }
  return text;
}

std::string mean_text(const statistics::Moments& moments) {
  if (moments.count == 0) return "-";
  return fmt::format("{} (n {})", statistics::format_spread(moments.mean, moments.deviation),
                     moments.count);
}

// What the samples leave out, and which of their values may not be independent.
std::string notes_on_runs(const std::vector<ComparedGroup>& groups) {
  size_t stopped = 0;
  size_t same_seed = 0;
  for (const ComparedGroup& group : groups) {
    stopped += group.stopped;
    same_seed += group.same_seed;
  }
  std::string text;
  if (stopped > 0) {
    text +=
        fmt::format("left out: {} stopped early, so the samples are of those that were better\n",
                    counted(stopped, "run"));
  }
  if (same_seed > 0) text += same_seed_note(same_seed) + "\n";
  return text;
}

// With two groups, the headings name them; with more, the columns a and b do.
TextTable table_of(const std::vector<const ComparisonRow*>& rows, bool two_groups) {
  TextTable table;
  table.columns = {
      {"figure", {}, true},     {"a", {}, true},      {"b", {}, true}, {"mean a", {}, false, 1},
      {"mean b", {}, false, 1}, {"b - a [95 %]", {}}, {"p", {}},       {"effect", {}, false, 2},
      {"test", {}, true, 3}};
  if (two_groups) {
    table.columns[3].heading = "mean A";
    table.columns[4].heading = "mean B";
    table.columns[5].heading = "B - A [95 %]";
  }
  for (const ComparisonRow* row : rows) {
    const SampleDifference& found = row->found;
    const auto& adjusted = found.adjusted_p ? found.adjusted_p : found.p;
    const std::vector<std::string> cells = {
        shown_figure(row->figure),
        row->a,
        row->b,
        mean_text(found.a),
        mean_text(found.b),
        found.has_both() ? interval_text(found) : "-",
        adjusted ? p_text(*adjusted) : "-",
        found.effect ? fmt::format("{} {:.2f}", names_of(*found.test).effect_sign, *found.effect)
                     : "-",
        found.test ? names_of(*found.test).test : "none"};
    for (size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
  }
  if (two_groups) table.columns.erase(table.columns.begin() + 1, table.columns.begin() + 3);
  return table;
}

// Both means, or none.
void fit_pairs(TextTable& table, size_t most_columns) {
  fit(table, most_columns);
  const auto is_mean = [](const TextColumn& column) { return column.heading.starts_with("mean "); };
  const auto only = std::ranges::find_if(table.columns, is_mean);
  if (std::ranges::count_if(table.columns, is_mean) != 1) return;
  table.left_out.push_back(only->heading);
  table.columns.erase(only);
}

Json moments_of_json(const statistics::Moments& moments) {
  return {{"mean", moments.count > 0 ? Json(moments.mean) : Json(nullptr)},
          {"sd", moments.deviation ? Json(*moments.deviation) : Json(nullptr)},
          {"n", moments.count}};
}

// Empty if it has numbers of this figure.
std::string missing_in(const ComparedGroup& group, const std::string& figure) {
  const auto found = group.figures.find(figure);
  if (found != group.figures.end() && !found->second.numbers.empty()) return "";
  if (!group.nothing.empty()) return fmt::format("{} has {}", group.label, group.nothing);
  if (found == group.figures.end()) return fmt::format("{} has no {}", group.label, figure);
  return fmt::format("{} has only {}", group.label, found->second.not_numbers.begin()->first);
}

// Instead of an empty table.
std::string why_no_rows(const std::vector<ComparedGroup>& groups) {
  std::string text = "\nthere is nothing to compare\n";
  for (const ComparedGroup& group : groups) {
    if (!group.nothing.empty()) text += fmt::format("{} has {}\n", group.label, group.nothing);
  }
  return text;
}

SampleDifference difference_in(const ComparedGroup& a, const ComparedGroup& b,
                               const std::string& figure, std::optional<double> looked_for) {
  const auto numbers = [&](const ComparedGroup& group) {
    const auto found = group.figures.find(figure);
    return found == group.figures.end() ? std::vector<double>() : found->second.numbers;
  };
  SampleDifference found = difference_of(numbers(a), numbers(b), looked_for);
  const std::string first = missing_in(a, figure);
  const std::string second = missing_in(b, figure);
  if (!first.empty() || !second.empty()) {
    found.reason = first + (first.empty() || second.empty() ? "" : ", ") + second;
  }
  return found;
}

void refuse_overlap(const ComparedGroup& a, const ComparedGroup& b) {
  std::vector<std::string> common;
  for (const size_t number : a.members) {
    if (std::ranges::find(b.members, number) != b.members.end()) {
      common.push_back(fmt::format("#{}", number));
    }
  }
  if (common.empty()) return;
  const size_t count = common.size();
  constexpr size_t kMostNamed = 3;
  common.resize(std::min(count, kMostNamed));
  fail(ErrorKind::usage,
       "{} ({}) and {} ({}) have {} in common: {}{}; choose two that exclude each other{}", a.label,
       a.name, b.label, b.name, counted(count, "configuration"), fmt::join(common, ", "),
       count > kMostNamed ? " ..." : "", a.example.empty() ? "" : ", such as " + a.example);
}

}  // namespace

ComparisonAnswer compare(std::vector<ComparedGroup> groups, const std::vector<std::string>& figures,
                         std::optional<double> looked_for) {
  ComparisonAnswer answer{.groups = std::move(groups), .rows = {}};
  for (const std::string& figure : figures) {
    for (size_t i = 0; i < answer.groups.size(); ++i) {
      for (size_t j = i + 1; j < answer.groups.size(); ++j) {
        const ComparedGroup& a = answer.groups[i];
        const ComparedGroup& b = answer.groups[j];
        refuse_overlap(a, b);
        const bool known = a.figures.contains(figure) || b.figures.contains(figure);
        if (!known && a.nothing.empty() && b.nothing.empty()) continue;  // neither measures it
        answer.rows.push_back({.figure = figure,
                               .a = a.label,
                               .b = b.label,
                               .found = difference_in(a, b, figure, looked_for)});
      }
    }
  }
  std::vector<double> p;
  for (const ComparisonRow& row : answer.rows) {
    if (row.found.p) p.push_back(*row.found.p);
  }
  const auto adjusted = statistics::holm_adjusted(p);
  auto next = adjusted.begin();
  for (ComparisonRow& row : answer.rows) {
    if (!row.found.p) continue;
    row.found.adjusted_p = *next++;
    plan_repeats(row.found, kSignificant / static_cast<double>(p.size()));
  }
  return answer;
}

std::string describe(const ComparisonAnswer& answer, size_t most_columns) {
  std::string text;
  for (const ComparedGroup& group : answer.groups) {
    text += fmt::format("{} = {}\n", group.label, group.name);
  }
  std::vector<const ComparisonRow*> rows;
  size_t tests = 0;
  for (const ComparisonRow& row : answer.rows) {
    tests += row.found.p ? 1 : 0;
    rows.push_back(&row);
  }
  // The pairs with the smallest p first: the table shows only some of many pairs.
  std::ranges::stable_sort(rows, [](const ComparisonRow* x, const ComparisonRow* y) {
    return x->figure == y->figure && x->found.p.value_or(2) < y->found.p.value_or(2);
  });
  const size_t left_out = rows.size() > kMostPairsShown ? rows.size() - kMostPairsShown : 0;
  rows.resize(rows.size() - left_out);
  if (rows.empty()) return text + why_no_rows(answer.groups);
  TextTable table = table_of(rows, answer.groups.size() == 2);
  fit_pairs(table, most_columns);
  text += "\n" + text_of(table) + "\n";
  for (const ComparisonRow* row : rows) text += verdict_on(*row) + "\n";
  if (left_out > 0) {
    text += fmt::format("left out: {} with a larger p or without a test; --json has all\n",
                        counted(left_out, "comparison"));
  }
  if (!table.left_out.empty()) {
    text += fmt::format("left out, the terminal has {} columns: {}; --json has all\n", most_columns,
                        fmt::join(table.left_out, ", "));
  }
  text += notes_on_runs(answer.groups);
  if (tests > 1) text += fmt::format("p is adjusted by Holm for {} tests\n", tests);
  if (tests > 0) {
    text +=
        "test: Shapiro-Wilk decides between Welch's t (effect: Hedges' g) and Mann-Whitney U "
        "(rank-biserial r)\nrepeats: for a power of 80 % at the 5 % level, divided by the number "
        "of tests\n";
  }
  return text;
}

Json to_json(const ComparisonAnswer& answer) {
  Json groups = Json::array();
  for (const ComparedGroup& group : answer.groups) {
    Json figures = Json::object();
    for (const auto& [name, values] : group.figures) figures[name] = moments_json(values);
    groups.push_back({{"label", group.label},
                      {"name", group.name},
                      {"figures", figures},
                      {"without_figures", group.nothing}});
  }
  Json rows = Json::array();
  const auto known = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  for (const ComparisonRow& row : answer.rows) {
    const SampleDifference& found = row.found;
    Json json = {{"figure", row.figure},
                 {"a", row.a},
                 {"b", row.b},
                 {"of_a", moments_of_json(found.a)},
                 {"of_b", moments_of_json(found.b)},
                 {"difference", found.has_both() ? Json(found.difference) : Json(nullptr)},
                 {"interval", nullptr},
                 {"test", found.test ? Json(names_of(*found.test).test) : Json(nullptr)},
                 {"reason", found.reason},
                 {"p", known(found.p)},
                 {"holm_p", known(found.adjusted_p)},
                 {"effect_name", found.test ? Json(names_of(*found.test).effect) : Json(nullptr)},
                 {"effect", known(found.effect)},
                 {"looked_for", found.looked_for},
                 {"repeats_needed", known(found.repeats_needed)}};
    if (found.interval) {
      json["interval"] = {{"low", found.interval->low},
                          {"high", found.interval->high},
                          {"level", found.interval->level}};
    }
    rows.push_back(std::move(json));
  }
  return {{"groups", groups}, {"comparisons", rows}};
}

}  // namespace plimsoll::answer
