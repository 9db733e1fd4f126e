// Prints for people. Names, messages and lines of logs are written by others: what a terminal would
// obey is made visible (base/utf8.h). Marks that the locale does not have become ASCII
// (base/marks.h). What scripts read, JSON and tables, does not go through here.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/marks.h"
#include "base/utf8.h"

namespace plimsoll {

template <typename... Args>
void print_to(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stream, "{}", for_locale(printable(fmt::format(format, std::forward<Args>(args)...))));
}

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  print_to(stdout, format, std::forward<Args>(args)...);
}

}  // namespace plimsoll
