// The table of `plimsoll results`: one line per configuration, best first, and what must be said
// below it.
#pragma once

#include <string>
#include <vector>

#include "answer/configuration.h"
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

}  // namespace plimsoll::answer
