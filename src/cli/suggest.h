// What to say to a command line that cannot be understood: what is wrong with it, in one line, and
// the known word nearest to an unknown one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::cli {

// How many letters must be inserted, removed, replaced or swapped with their neighbour.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that was probably meant: the one that begins with `word` if it is the only one,
// else the one with the fewest edits (of equals, the first). None where that would change more than
// a third of `word`.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// The command that was given, as far as it was recognised: "plimsoll import ogb".
std::string given_command(const CLI::App& root);

// "unknown option --memroy; did you mean --memory?"
std::string explain(const CLI::App& root, const CLI::ParseError& error);

}  // namespace plimsoll::cli
