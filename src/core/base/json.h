// JSON from outside. Every reader of JSON goes through here: what is too large, nests too deep or
// holds too many values is refused before a parser allocates or recurses for it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll {

struct JsonLimits {
  uint64_t bytes = 16 * kMiB;
  uint64_t values = 1'000'000;  // a parsed one takes up to 200 bytes
  uint64_t depth = 64;          // of lists and objects in each other: copies and messages recurse
  ErrorKind kind = ErrorKind::input;  // of the refusal
  std::string_view without;           // leaves out members of this name, which may be long
};

// Throws Error with `name` (a file), the figure and the limit. The text need not be JSON.
void check_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

// Throws Error, also if the text is not JSON. Members of the same name: the last one counts.
template <typename Json = nlohmann::json>
Json read_json(std::string_view text, std::string_view name, const JsonLimits& limits = {}) {
  check_json(text, name, limits);
  try {
    if (limits.without.empty()) return Json::parse(text);
    return Json::parse(text, [&](int /*depth*/, typename Json::parse_event_t event, Json& parsed) {
      return event != Json::parse_event_t::key || parsed != limits.without;
    });
  } catch (const nlohmann::json::exception& error) {
    const std::string_view what = error.what();
    const size_t colon = what.find(": ");  // after the library's name for it
    fail(limits.kind, "{}: this is not JSON: {}", name,
         colon == std::string_view::npos ? what : what.substr(colon + 2));
  }
}

// read_json() and what takes its values out: a missing key or a value of another type is Error,
// too, with `name`.
template <typename Json, typename Take>
auto from_json(std::string_view text, std::string_view name, const Take& take,
               const JsonLimits& limits = {}) {
  const Json json = read_json<Json>(text, name, limits);
  try {
    return take(json);
  } catch (const nlohmann::json::exception& error) {
    fail(limits.kind, "{}: {}", name, error.what());
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", name, error.what());
  }
}

// JSON for people and files: indented, with a replacement for bytes that are not UTF-8, such as
// those of a path. Without a newline at the end.
template <typename Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// Prints it on standard output, with a newline: a command's answer to --json.
inline void print_json(const nlohmann::ordered_json& json) { fmt::print("{}\n", json_text(json)); }

// A whole number that T holds; get() would truncate or wrap other values.
template <typename T, typename Json>
T whole_in(const Json& object, const char* key) {
  const Json& value = object.at(key);
  if (value.is_number_unsigned()) {
    if (std::in_range<T>(value.template get<uint64_t>())) return value.template get<T>();
  } else if (value.is_number_integer()) {
    if (std::in_range<T>(value.template get<int64_t>())) return value.template get<T>();
  }
  fail(ErrorKind::input, "\"{}\" is {}, a whole number was expected", key, value.dump());
}

}  // namespace plimsoll
