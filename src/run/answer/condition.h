// --where: conditions on configurations, "learning_rate<0.01,model=good".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/configuration.h"

namespace plimsoll::answer {

struct ResultCondition {
  enum class Relation { equal, different, less, at_most, more, at_least };
  std::string name;  // a parameter, repo, model, beside, n, or a figure, whose mean is compared
  Relation relation = Relation::equal;
  std::string text;
};

// Separated by commas; all must hold. Throws Error{usage} for what cannot be read, and for a name
// that no configuration has.
std::vector<ResultCondition> parse_conditions(std::string_view text, const Configurations& known);

// Numbers are compared as numbers, everything else as text. A configuration that does not have the
// value only meets "different".
bool meets(const Configuration& one, const ResultCondition& condition);
bool meets_all(const Configuration& one, const std::vector<ResultCondition>& conditions);

}  // namespace plimsoll::answer
