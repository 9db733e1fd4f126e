#include "answer/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "answer/condition.h"
#include "answer/means_output.h"
#include "answer/results_table.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/units.h"
#include "experiment/best.h"
#include "statistics/effect.h"
#include "statistics/mann_whitney.h"
#include "statistics/shapiro_wilk.h"

namespace plimsoll::answer {
namespace {

using Json = nlohmann::ordered_json;

// The least efficiency of Mann and Whitney's test against the t test (Hodges and Lehmann, 1956).
constexpr double kLeastEfficiency = 0.864;
constexpr size_t kMostPairsShown = 10;

// Why the samples cannot come from normal distributions; empty if nothing speaks against it.
std::string not_normal(std::span<const double> a, std::span<const double> b) {
  std::string text;
  for (const auto& [sample, label] : {std::pair{a, "first"}, std::pair{b, "second"}}) {
    const auto test = statistics::shapiro_wilk_test(sample);
    if (!test || test->p >= kSignificant) continue;
    text += fmt::format("{}Shapiro-Wilk p {:.2g} for the {} sample", text.empty() ? "" : ", ",
                        test->p, label);
  }
  return text;
}

void test_by_ranks(std::span<const double> a, std::span<const double> b, SampleDifference& found) {
  const auto test = statistics::mann_whitney_test(b, a);
  found.test = "Mann-Whitney U";
  found.difference = test.shift;
  found.interval = test.interval;
  found.p = test.p;
  found.effect_name = "r";
  found.effect = statistics::rank_biserial(test.u, b.size(), a.size());
}

void test_by_means(std::span<const double> a, std::span<const double> b, SampleDifference& found) {
  const auto test = statistics::welch_test(b, a);
  if (!test) {
    found.reason = "neither sample varies";
    return;
  }
  found.test = "Welch's t";
  found.reason = std::min(a.size(), b.size()) < 3 ? "two values are too few to test for normality"
                                                  : "nothing speaks against normal distributions";
  found.interval = test->interval;
  found.p = test->p;
  found.effect_name = "g";
  found.effect = statistics::hedges_g(b, a);
}

void plan_repeats(SampleDifference& found, double level) {
  const double deviation = std::hypot(*found.a.deviation, *found.b.deviation) / std::sqrt(2.0);
  found.repeats_needed = statistics::repeats_for(found.looked_for, deviation, level);
  if (found.repeats_needed && found.effect_name == "r") {
    found.repeats_needed = static_cast<size_t>(
        std::ceil(static_cast<double>(*found.repeats_needed) / kLeastEfficiency));
  }
}

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

// With its unit.
std::string shown_figure(const std::string& figure) {
  if (figure == kSeconds) return "time (s)";
  if (figure == kEnergy) return "energy (J)";
  return figure == kCo2 ? "CO2 (g)" : figure;
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
        fmt::format("{} (n {})", statistics::format_spread(found.a.mean, found.a.deviation),
                    found.a.count),
        fmt::format("{} (n {})", statistics::format_spread(found.b.mean, found.b.deviation),
                    found.b.count),
        interval_text(found),
        adjusted ? p_text(*adjusted) : "-",
        found.effect ? fmt::format("{} {:.2f}", found.effect_name, *found.effect) : "-",
        found.test.empty() ? "none" : found.test};
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
  return {{"mean", moments.mean},
          {"sd", moments.deviation ? Json(*moments.deviation) : Json(nullptr)},
          {"n", moments.count}};
}

void add_configuration(const Configuration& one, ComparedGroup& group) {
  group.members.push_back(one.number);
  for (const auto& [name, values] : one.figures) {
    auto& all = group.figures[name];
    all.numbers.insert(all.numbers.end(), values.numbers.begin(), values.numbers.end());
    for (const auto& [text, times] : values.not_numbers) all.not_numbers[text] += times;
  }
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
       "{} ({}) and {} ({}) have {} in common: {}{}; choose two that exclude each other, such as "
       "\"learning_rate<0.01\" and \"learning_rate>=0.01\"",
       a.label, a.name, b.label, b.name, counted(count, "configuration"), fmt::join(common, ", "),
       count > kMostNamed ? " ..." : "");
}

std::string label_of(size_t index) {
  constexpr size_t kLetters = 26;
  if (index < kLetters) return {static_cast<char>('A' + index)};
  return fmt::format("A{}", index - kLetters + 1);
}

}  // namespace

SampleDifference difference_of(std::span<const double> a, std::span<const double> b,
                               std::optional<double> looked_for) {
  SampleDifference found{.a = statistics::moments_of(a), .b = statistics::moments_of(b)};
  found.difference = found.b.mean - found.a.mean;
  if (a.size() < 2 || b.size() < 2) {
    found.reason = "it needs at least two repeats of each";
    return found;
  }
  const std::string against = not_normal(a, b);
  if (against.empty()) {
    test_by_means(a, b, found);
  } else {
    test_by_ranks(a, b, found);
    found.reason = against;
  }
  found.looked_for = looked_for.value_or(found.difference);
  found.stated = looked_for.has_value();
  plan_repeats(found, kSignificant);
  return found;
}

ComparedGroup select_group(const Configurations& configurations, const std::string& label,
                           const std::string& text) {
  ComparedGroup group{.label = label, .name = text};
  const std::string digits = text.starts_with('#') ? text.substr(1) : text;
  const bool number =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  const auto conditions =
      number ? std::vector<ResultCondition>() : parse_conditions(text, configurations);
  for (const Configuration& one : configurations.all) {
    const bool chosen =
        number ? fmt::format("{}", one.number) == digits : meets_all(one, conditions);
    if (!chosen) continue;
    add_configuration(one, group);
    if (number) group.name = fmt::format("#{}: {}", one.number, short_name(configurations, one));
  }
  if (group.members.empty()) {
    fail(ErrorKind::usage,
         "{} selects no configuration; there are {}, with numbers in the column #", text,
         configurations.all.size());
  }
  if (!number) group.name += fmt::format(" ({})", counted(group.members.size(), "configuration"));
  return group;
}

std::vector<ComparedGroup> groups_over(const Configurations& configurations,
                                       const std::string& parameter) {
  std::vector<ComparedGroup> groups;
  std::vector<std::string> known = configurations.parameters;
  for (const char* name : {"model", "repo", "beside", "repository"}) {
    if (std::find(known.begin(), known.end(), name) == known.end()) known.emplace_back(name);
  }
  if (std::find(known.begin(), known.end(), parameter) == known.end()) {
    const auto near = nearest(parameter, known);
    fail(ErrorKind::usage, "--over: there is no parameter {}{}; known: {}", parameter,
         near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(known, ", "));
  }
  std::map<std::string, double> numbers;  // by the name of their group
  for (const Configuration& one : configurations.all) {
    const std::string text = named_text(configurations, one, parameter);
    if (text.empty()) continue;
    const std::string name = fmt::format("{} {}", parameter, text);
    auto found = std::ranges::find_if(
        groups, [&](const ComparedGroup& group) { return group.name == name; });
    if (found == groups.end()) {
      groups.push_back({.label = "", .name = name});
      found = std::prev(groups.end());
      const auto* value = one.values.find(parameter);
      if (value != nullptr && value->is_number()) numbers[name] = value->number;
    }
    add_configuration(one, *found);
  }
  if (groups.size() < 2) {
    fail(ErrorKind::usage,
         "--over {}: it has the same value in all experiments; there is nothing "
         "to compare",
         parameter);
  }
  if (numbers.size() == groups.size()) {
    std::ranges::stable_sort(groups, {},
                             [&](const ComparedGroup& group) { return numbers.at(group.name); });
  }
  for (size_t i = 0; i < groups.size(); ++i) groups[i].label = label_of(i);
  return groups;
}

ComparisonAnswer compare(std::vector<ComparedGroup> groups, const std::vector<std::string>& figures,
                         std::optional<double> looked_for) {
  ComparisonAnswer answer{.groups = std::move(groups), .rows = {}};
  for (const std::string& figure : figures) {
    for (size_t i = 0; i < answer.groups.size(); ++i) {
      for (size_t j = i + 1; j < answer.groups.size(); ++j) {
        ComparedGroup& a = answer.groups[i];
        ComparedGroup& b = answer.groups[j];
        refuse_overlap(a, b);
        if (!a.figures.contains(figure) || !b.figures.contains(figure)) continue;
        answer.rows.push_back({.figure = figure,
                               .a = a.label,
                               .b = b.label,
                               .found = difference_of(a.figures[figure].numbers,
                                                      b.figures[figure].numbers, looked_for)});
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
  // Of many pairs, those that show something, and the smallest p of the others.
  std::ranges::stable_sort(rows, [](const ComparisonRow* x, const ComparisonRow* y) {
    return x->figure == y->figure && x->found.p.value_or(2) < y->found.p.value_or(2);
  });
  const size_t left_out = rows.size() > kMostPairsShown ? rows.size() - kMostPairsShown : 0;
  rows.resize(rows.size() - left_out);
  TextTable table = table_of(rows, answer.groups.size() == 2);
  fit_pairs(table, most_columns);
  text += "\n" + text_of(table) + "\n";
  for (const ComparisonRow* row : rows) text += verdict_on(*row) + "\n";
  if (left_out > 0) {
    text += fmt::format("left out: {} with a larger p; --json has all\n",
                        counted(left_out, "comparison"));
  }
  if (!table.left_out.empty()) {
    text += fmt::format("left out, the terminal has {} columns: {}; --json has all\n", most_columns,
                        fmt::join(table.left_out, ", "));
  }
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
    groups.push_back({{"label", group.label}, {"name", group.name}, {"figures", figures}});
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
                 {"difference", found.difference},
                 {"interval", nullptr},
                 {"test", found.test.empty() ? Json(nullptr) : Json(found.test)},
                 {"reason", found.reason},
                 {"p", known(found.p)},
                 {"holm_p", known(found.adjusted_p)},
                 {"effect_name", found.effect_name == "g"   ? Json("hedges_g")
                                 : found.effect_name == "r" ? Json("rank_biserial")
                                                            : Json(nullptr)},
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
