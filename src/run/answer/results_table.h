// The answer of `plimsoll results`: a table with one line per configuration, best first, and the
// notes below it; and the same figures as CSV and JSON for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "answer/configuration.h"
#include "answer/selection.h"
#include "answer/text_table.h"

namespace plimsoll::answer {

struct ResultsView {
  Aim aim;
  std::vector<std::string> columns;  // names; empty: all that fit
  size_t most_columns = 0;           // of the terminal; 0: unlimited
};

// `configurations` in the order of the lines. Throws Error{usage} for an unknown column.
TextTable results_table(const Configurations& configurations, const ResultsView& view);

// "12 experiments: 10 succeeded, 2 failed (timed_out 2); 3 are not finished"
std::string describe_counts(const Configurations& configurations);

// The lines below the table: what is the same in all, what was left out, why energy is missing.
std::vector<std::string> notes_of(const Configurations& configurations, const ResultsView& view,
                                  const TextTable& table);

// Where energy is missing: what, why, and the remedy; empty if all parts were measured.
std::string energy_note(const Configurations& configurations);

// "0.413 ± 0.012, nan 1 time"
std::string spread_text(const FigureValues& values, double unit = 1);

// "seconds" -> "time (s)", "energy" -> "energy (kJ)", with what a number is divided by.
struct FigureUnit {
  std::string heading;
  double divisor = 1;
};
FigureUnit unit_of(const Configurations& configurations, const std::string& figure);

// For scripts: mean, standard deviation and n of every figure.
std::string means_csv(const Configurations& configurations);
nlohmann::ordered_json means_json(const Configurations& configurations);

// {"mean": 0.41, "sd": 0.01, "n": 5}; an unknown standard deviation is null.
nlohmann::ordered_json moments_json(const FigureValues& values);

}  // namespace plimsoll::answer
