// --compare and --over: groups of experiments side by side, and whether they differ.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "answer/configuration.h"
#include "answer/sample_difference.h"
#include "answer/text_table.h"

namespace plimsoll::answer {

// Experiments that are compared with others.
struct ComparedGroup {
  std::string label;  // "A"
  std::string name;   // "#3: learning_rate 3e-05"
  std::map<std::string, FigureValues> figures;
  std::vector<size_t> members = {};  // numbers of configurations; of trainings none
  std::string nothing = {};          // "no successful run (own error 2)", if it has no figures
  size_t stopped = 0;                // early; these runs are in no figure
  size_t same_seed = 0;              // repeats with the seed of another repeat
  std::string example = {};          // two conditions that exclude each other, for a message
};

// `text` is the number of a configuration ("3", "#3") or conditions ("learning_rate<0.01"). Throws
// Error{usage} if it selects none.
ComparedGroup select_group(const Configurations& configurations, const std::string& label,
                           const std::string& text);

// The two groups of --compare, A and B. Throws Error{usage} for a single word, with conditions that
// exist.
std::vector<ComparedGroup> named_groups(const Configurations& configurations,
                                        const std::vector<std::string>& words);

// All configurations by their value of the parameter, which may also be model, repo or beside.
// Throws Error{usage} if it has fewer than two values.
std::vector<ComparedGroup> groups_over(const Configurations& configurations,
                                       const std::string& parameter);

// Whatever must be said of groups_over() besides the tests: which configurations it leaves out, and
// which other parameters differ within or between the groups.
std::vector<std::string> notes_over(const Configurations& configurations,
                                    const std::string& parameter);

struct ComparisonRow {
  std::string figure;
  std::string a;  // labels
  std::string b;
  SampleDifference found;
};

struct ComparisonAnswer {
  std::vector<ComparedGroup> groups;
  std::vector<ComparisonRow> rows;  // every pair of groups, figure by figure
};

// A pair without a value on one side has no test and says why. Throws Error{usage} if two groups
// have a configuration in common: the tests need independent samples.
ComparisonAnswer compare(std::vector<ComparedGroup> groups, const std::vector<std::string>& figures,
                         std::optional<double> looked_for);

// Tables and sentences; `most_columns` as in fit().
std::string describe(const ComparisonAnswer& answer, size_t most_columns);
nlohmann::ordered_json to_json(const ComparisonAnswer& answer);

}  // namespace plimsoll::answer
