#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "answer/comparison.h"
#include "answer/selection.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/units.h"

namespace plimsoll::answer {
namespace {

// Why a group has no figures: all of its runs failed or were stopped.
std::string no_success(const Configurations& configurations, const ComparedGroup& group) {
  std::map<std::string, size_t> causes;
  for (const Configuration& one : configurations.all) {
    if (std::ranges::find(group.members, one.number) == group.members.end()) continue;
    if (one.succeeded > 0) return "";
    for (const auto& [cause, times] : one.failures) causes[cause] += times;
    if (one.stopped > 0) causes["stopped early"] += one.stopped;
  }
  return fmt::format("no successful run ({})", counts_of_causes(causes));
}

// Two conditions that exclude each other, made from the first parameter that varies.
std::string excluding_conditions(const Configurations& configurations) {
  for (const std::string& parameter : varying_parameters(configurations)) {
    std::set<double> numbers;
    for (const Configuration& one : configurations.all) {
      const auto* value = one.values.find(parameter);
      if (value != nullptr && value->is_number()) numbers.insert(value->number);
    }
    if (numbers.size() > 1) {
      const double middle = *std::next(numbers.begin(), static_cast<ptrdiff_t>(numbers.size() / 2));
      return fmt::format(R"("{0}<{1}" and "{0}>={1}")", parameter, middle);
    }
    for (const Configuration& one : configurations.all) {
      const std::string text = value_text(one, parameter);
      if (!text.empty()) return fmt::format(R"("{0}={1}" and "{0}!={1}")", parameter, text);
    }
  }
  return "";
}

void complete_group(const Configurations& configurations, ComparedGroup& group) {
  group.nothing = no_success(configurations, group);
  group.example = excluding_conditions(configurations);
}

void add_configuration(const Configuration& one, ComparedGroup& group) {
  group.members.push_back(one.number);
  group.stopped += one.stopped;
  group.same_seed += one.same_seed;
  for (const auto& [name, values] : one.figures) {
    auto& all = group.figures[name];
    all.numbers.insert(all.numbers.end(), values.numbers.begin(), values.numbers.end());
    for (const auto& [text, times] : values.not_numbers) all.not_numbers[text] += times;
  }
}

// Parameters that differ besides the one that makes the groups.
struct OtherParameters {
  std::vector<std::string> within;   // a group
  std::vector<std::string> between;  // groups, but in none of them
};

OtherParameters others_in(const std::map<std::string, std::vector<const Configuration*>>& groups,
                          const std::vector<std::string>& parameters,
                          const std::string& parameter) {
  OtherParameters others;
  for (const std::string& other : parameters) {
    if (other == parameter) continue;
    std::set<std::string> values;
    bool varies = false;
    for (const auto& [value, members] : groups) {
      std::set<std::string> own;
      for (const Configuration* one : members) own.insert(value_text(*one, other));
      varies = varies || own.size() > 1;
      values.merge(own);
    }
    if (varies) {
      others.within.push_back(other);
    } else if (values.size() > 1) {
      others.between.push_back(other);
    }
  }
  return others;
}

std::string label_of(size_t index) {
  constexpr size_t kLetters = 26;
  if (index < kLetters) return {static_cast<char>('A' + index)};
  return fmt::format("A{}", index - kLetters + 1);
}

}  // namespace

std::vector<ComparedGroup> named_groups(const Configurations& configurations,
                                        const std::vector<std::string>& words) {
  if (words.size() < 2) {
    const auto varying = varying_parameters(configurations);
    const Configuration& example = configurations.all.front();
    const std::string parameter = varying.empty() ? "model" : varying.front();
    const std::string value = varying.empty() ? example.model : value_text(example, parameter);
    fail(ErrorKind::usage,
         "--compare needs two groups, as in --compare 1 2; they are numbers of the table, 1 to {}, "
         "or conditions such as \"{}={}\"; known: {}",
         configurations.last_number(), parameter, value,
         fmt::join(varying.empty() ? std::vector{parameter} : varying, ", "));
  }
  return {select_group(configurations, "A", words[0]), select_group(configurations, "B", words[1])};
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
  complete_group(configurations, group);
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
    refuse_nuisance(configurations, "--over " + parameter, parameter);
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
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].label = label_of(i);
    complete_group(configurations, groups[i]);
  }
  return groups;
}

std::vector<std::string> notes_over(const Configurations& configurations,
                                    const std::string& parameter) {
  std::map<std::string, std::vector<const Configuration*>> groups;
  size_t without = 0;
  for (const Configuration& one : configurations.all) {
    const std::string value = named_text(configurations, one, parameter);
    if (value.empty()) {
      ++without;
    } else {
      groups[value].push_back(&one);
    }
  }
  const OtherParameters others = others_in(groups, configurations.parameters, parameter);
  std::vector<std::string> notes;
  if (without > 0) {
    notes.push_back(
        fmt::format("left out: {} without {}", counted(without, "configuration"), parameter));
  }
  if (!others.within.empty()) {
    notes.push_back(
        fmt::format("the groups mix experiments with different {}; --where keeps them fixed",
                    fmt::join(others.within, ", ")));
  }
  if (!others.between.empty()) {
    notes.push_back(fmt::format("the groups also differ in {}, so the difference may be theirs",
                                fmt::join(others.between, ", ")));
  }
  return notes;
}

}  // namespace plimsoll::answer
