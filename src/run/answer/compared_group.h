// The groups of experiments that --compare and --over put side by side.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "answer/configuration.h"

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

// All configurations by their value of the parameter, which may also be model, repo or beside.
// Throws Error{usage} if it has fewer than two values.
std::vector<ComparedGroup> groups_over(const Configurations& configurations,
                                       const std::string& parameter);

// Whatever must be said of groups_over() besides the tests: which configurations it leaves out, and
// which other parameters differ within or between the groups.
std::vector<std::string> notes_over(const Configurations& configurations,
                                    const std::string& parameter);

}  // namespace plimsoll::answer
