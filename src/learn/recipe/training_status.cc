#include "recipe/training_status.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace plimsoll::recipe {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 6> kStatuses = {"running", "finished",    "early stopped",
                                                       "stopped", "interrupted", "unknown"};

}  // namespace

std::string_view name(TrainingStatus status) { return kStatuses.at(static_cast<size_t>(status)); }

TrainingStatus status_named(std::string_view name) {
  const auto* const found = std::ranges::find(kStatuses, name);
  if (found == kStatuses.end()) return TrainingStatus::unknown;
  return static_cast<TrainingStatus>(found - kStatuses.begin());
}

}  // namespace plimsoll::recipe
