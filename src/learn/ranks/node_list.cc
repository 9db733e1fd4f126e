#include "ranks/node_list.h"

namespace plimsoll::ranks {
namespace {

// The first number of "03-05,9": the text up to a dash, a comma or the end.
std::string_view first_number(std::string_view numbers) {
  return numbers.substr(0, numbers.find_first_of("-,"));
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

// A name may have several brackets, as in "rack[1-2]node[1-4]": the first of each counts.
std::optional<std::string> first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      const size_t end = std::min(list.find_first_of("[,"), list.size());
      host += list.substr(0, end);
      list.remove_prefix(end);
      continue;
    }
    const size_t end = list.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view number = first_number(list.substr(1, end - 1));
    if (!is_number(number)) return std::nullopt;
    host += number;
    list.remove_prefix(end + 1);
  }
  const bool valid = !host.empty() && host.find_first_of("] \t\n") == std::string::npos;
  return valid ? std::optional(host) : std::nullopt;
}

}  // namespace plimsoll::ranks
