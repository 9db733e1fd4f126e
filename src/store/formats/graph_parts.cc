#include "formats/graph_parts.h"

#include <cmath>

namespace plimsoll::formats {

std::optional<int32_t> label_of(int64_t number) {
  if (number < kUnlabelled || number > kMaxLabel) return std::nullopt;
  return static_cast<int32_t>(number);
}

std::optional<int32_t> label_of(uint64_t number) {
  if (number > static_cast<uint64_t>(kMaxLabel)) return std::nullopt;
  return static_cast<int32_t>(number);
}

std::optional<int32_t> label_of(double number) {
  if (std::isnan(number)) return kUnlabelled;
  if (number < kUnlabelled || number > kMaxLabel || number != std::trunc(number)) {
    return std::nullopt;
  }
  return static_cast<int32_t>(number);
}

}  // namespace plimsoll::formats
