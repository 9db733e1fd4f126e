// The known word nearest to one that is not known: for command lines and files that people write.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// How many letters must be inserted, removed, replaced or swapped with their neighbour.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that was probably meant: the one that begins with `word` if it is the only one,
// else the one with the fewest edits (of equals, the first). Upper and lower case are the same.
// None where that would change more than a third of `word`.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace plimsoll
