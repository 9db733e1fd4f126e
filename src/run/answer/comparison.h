// Is the difference real? Two samples are compared by the test that the data allow.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "answer/compared_group.h"
#include "answer/text_table.h"
#include "statistics/hypothesis.h"

namespace plimsoll::answer {

constexpr double kSignificant = 0.05;

// The difference of two samples, b - a: how much more the second one has.
struct SampleDifference {
  statistics::Moments a;
  statistics::Moments b;
  double difference = 0;  // of the means, or the shift of Hodges and Lehmann
  std::optional<statistics::ConfidenceInterval> interval;
  std::string test;    // "Welch's t"; empty if there is none
  std::string reason;  // why this test, or why none
  std::optional<double> p;
  std::optional<double> adjusted_p;  // by Holm, over all tests of the answer
  std::string effect_name;           // "g" or "r"
  std::optional<double> effect;
  double looked_for = 0;  // the difference that the next figure is about
  bool stated = false;    // by the user; otherwise it is the difference found
  // How many repeats each sample needs in all to show `looked_for` in 80 % of cases. compare()
  // divides the level of 5 % by the number of tests.
  std::optional<size_t> repeats_needed;

  bool has_both() const { return a.count > 0 && b.count > 0; }
};

// Shapiro and Wilk's test decides between Welch's t and Mann and Whitney's U. `looked_for`: a
// difference that the user wants to see; otherwise the one between the samples.
SampleDifference difference_of(std::span<const double> a, std::span<const double> b,
                               std::optional<double> looked_for);

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
