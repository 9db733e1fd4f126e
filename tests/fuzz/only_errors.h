// What every fuzzer of a parser asks: whatever the bytes, only Error may come out, and none that is
// a bug of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace plimsoll {

// Whether it came to its end.
template <typename Action>
bool only_errors(Action action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) __builtin_trap();
    return false;
  }
}

inline std::string_view text_of_input(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace plimsoll
