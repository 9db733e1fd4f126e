// Characters of UTF-8 text that may be anything.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

struct Character {
  char32_t code = 0;
  size_t bytes = 0;
};

// The first character of a text that is not empty; nothing if the first byte does not start a
// character (overlong forms, surrogates, truncated ones).
std::optional<Character> first_character(std::string_view text);

// The same text with '?' for every byte that is no part of a character.
std::string valid_utf8(std::string_view text);

// Text of others (names, messages, lines of a log) as a terminal may show it: control characters,
// those that turn the direction of writing, and bytes that are no UTF-8 become visible, like \x1b
// and \u202e. Line ends and tabs stay.
std::string printable(std::string_view text);
// The same for a part of a line: line ends and tabs become visible, too.
std::string printable_line(std::string_view text);

}  // namespace plimsoll
