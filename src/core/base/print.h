// Text that people can read on their terminals. Others write names, messages and lines of logs:
// what a terminal would obey is made visible. Marks that the locale cannot show become ASCII.
// Text for scripts, such as JSON and tables, does not go through print().
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/host.h"

namespace plimsoll {

struct Character {
  char32_t code = 0;
  size_t bytes = 0;
};

// The first character of a text that is not empty; nothing if the first byte does not start a
// character (overlong forms, surrogates, truncated ones).
std::optional<Character> first_character(std::string_view text);

// The same text with '?' for every byte that is not part of a character.
std::string valid_utf8(std::string_view text);

// Text of others (names, messages, lines of a log) as a terminal may show it: control characters,
// those that turn the direction of writing, and bytes that are not UTF-8 become visible, like \x1b
// and \u202e. Line ends and tabs stay.
std::string printable(std::string_view text);
// The same for a part of a line: line ends and tabs become visible, too.
std::string printable_line(std::string_view text);

// Whether the locale has Unicode: what LC_ALL, LC_CTYPE or LANG names, in this order. A locale that
// is not set counts as one that has it: containers set none, and their terminals show it.
bool shows_unicode(const Host& host = Host::real());

// Our own marks in ASCII: ± as +-, a full block as #. Other characters, as in names, stay.
std::string with_ascii_marks(std::string_view text);

// The text as this process' locale can show it.
std::string for_locale(std::string text);

template <typename... Args>
void print_to(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stream, "{}", for_locale(printable(fmt::format(format, std::forward<Args>(args)...))));
}

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  print_to(stdout, format, std::forward<Args>(args)...);
}

}  // namespace plimsoll
