#include "diagnosis/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace plimsoll::diagnosis {
namespace {

constexpr std::array<std::string_view, 26> kNames = {
    "success",
    "failed",
    "own_memory_limit",
    "host_out_of_memory",
    "memory_refused",
    "killed",
    "interrupted",
    "gpu_memory_own",
    "gpu_memory_neighbour",
    "gpu_failed",
    "shared_memory_full",
    "broken_pipe",
    "segfault",
    "crashed",
    "timed_out",
    "hung",
    "missing_dependency",
    "disk_full",
    "not_admitted",
    "not_supervised",
    "not_started",
    "expectation_unmet",
    "no_result",
    "background_invalid",
    "driver_ended",
    "stopped_early",
};
static_assert(kNames.size() == static_cast<size_t>(Cause::stopped_early) + 1);

}  // namespace

bool is_out_of_memory(Cause cause) {
  return cause == Cause::own_memory_limit || cause == Cause::host_out_of_memory ||
         cause == Cause::memory_refused;
}

std::string_view name(Cause cause) { return kNames.at(static_cast<size_t>(cause)); }

std::span<const std::string_view> cause_names() { return kNames; }

std::optional<Cause> cause_named(std::string_view name) {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Cause>(found - kNames.begin());
}

Cause cause_of(std::string_view name) {
  if (const auto cause = cause_named(name)) return *cause;
  throw Error(ErrorKind::input, fmt::format("unknown cause '{}'", name));
}

}  // namespace plimsoll::diagnosis
