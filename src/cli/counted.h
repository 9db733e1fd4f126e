// A count with its noun: "1 node", "2,708 nodes", "3 batches".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace plimsoll::cli {

// For nouns whose plural ends in s or es.
inline std::string counted(uint64_t count, std::string_view noun) {
  const bool hisses = noun.ends_with('s') || noun.ends_with("ch");
  const char* const ending = count == 1 ? "" : hisses ? "es" : "s";
  return format_count(count) + " " + std::string(noun) + ending;
}

}  // namespace plimsoll::cli
