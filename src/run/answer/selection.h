// What a user selects from the configurations: those that meet conditions (--where), and the figure
// that they are sorted by (--sort).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/configuration.h"

namespace plimsoll::answer {

// A condition on configurations: "learning_rate<0.01".
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

// A figure, what is better, and who says so.
struct Aim {
  enum class Source { by_name, by_objective, by_user };
  std::string figure;
  bool maximize = false;
  Source source = Source::by_name;
};
// `text`: "accuracy", "loss:max", "accuracy:min". Empty: the objective, the first metric, or the
// time. Without :min or :max, the objective of the files decides about its metric. Throws
// Error{usage} if no configuration has the figure; of an energy, with the reason.
Aim aim_of(const Configurations& configurations, const std::string& text);
// The two figures of --pareto. Throws Error{usage} for a single one, with those that exist, and for
// the same one twice.
struct TwoAims {
  Aim first;
  Aim second;
};
TwoAims two_aims(const Configurations& configurations, const std::vector<std::string>& names);
// "lower is better, judged by its name; if not: --sort loss:max", with the option as given
std::string describe(const Aim& aim, std::string_view option);
// The figures of these names, as aim_of() finds them; `usual` if there are none.
std::vector<std::string> figures_named(const Configurations& configurations,
                                       const std::vector<std::string>& names,
                                       std::vector<std::string> usual);

// The figure of the aim, and the energy if it was measured.
std::vector<std::string> aim_and_energy(const Configurations& configurations, const Aim& aim);

// Best first; those without the figure last.
void sort_by(Configurations& configurations, const Aim& aim);

}  // namespace plimsoll::answer
