#include "recipe/status.h"

namespace plimsoll::recipe {

std::string_view name(TrainingStatus status) {
  switch (status) {
    case TrainingStatus::running:
      return "running";
    case TrainingStatus::finished:
      return "finished";
    case TrainingStatus::early_stopped:
      return "early stopped";
    case TrainingStatus::stopped:
      return "stopped";
    case TrainingStatus::interrupted:
      return "interrupted";
    case TrainingStatus::unknown:
      break;
  }
  return "unknown";
}

TrainingStatus status_named(std::string_view word) {
  using enum TrainingStatus;
  for (const TrainingStatus status : {running, finished, early_stopped, stopped, interrupted}) {
    if (name(status) == word) return status;
  }
  return unknown;
}

}  // namespace plimsoll::recipe
