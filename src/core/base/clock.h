// The wall clock, for what people and other programs read. Durations inside the program are
// measured with std::chrono::steady_clock, which nobody sets.
#pragma once

#include <chrono>

namespace plimsoll {

inline double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace plimsoll
