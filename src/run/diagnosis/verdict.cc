#include "diagnosis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host.h"
#include "slurm/slurm_command.h"

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

Verdict judge_refusal(Cause cause, const std::string& why) {
  const std::string headline = "not started: " + why;
  if (cause == Cause::not_admitted) {
    return {.cause = cause,
            .headline = headline,
            .evidence = "its GPUs did not have enough free memory in time",
            .next_step = "a longer --gpu-wait, or end the processes that hold the GPUs"};
  }
  return {.cause = cause,
          .headline = headline,
          .evidence = "plimsoll exec could not supervise it as requested, so it was not started",
          .next_step = "fix what the message names; plimsoll doctor shows what works here"};
}

std::string describe(const Verdict& verdict) {
  std::string text =
      fmt::format("{} {}", verdict.cause == Cause::success ? "✓" : "✗", verdict.headline);
  if (!verdict.evidence.empty()) text += "\n  " + verdict.evidence;
  if (!verdict.next_step.empty()) text += "\n  try: " + verdict.next_step;
  return text;
}

nlohmann::ordered_json to_json(const Verdict& verdict) {
  nlohmann::ordered_json json = {{"cause", name(verdict.cause)},
                                 {"headline", verdict.headline},
                                 {"evidence", verdict.evidence},
                                 {"next_step", verdict.next_step}};
  if (!verdict.said.empty()) json["said"] = verdict.said;
  if (verdict.gpu_room_bytes) json["gpu_room_bytes"] = *verdict.gpu_room_bytes;
  return json;
}

slurm::EndFacts end_facts(const process::Ending& ending, const Verdict& verdict,
                          const slurm::OwnJob& job) {
  slurm::EndFacts facts{.exit_code = process::exit_code(ending),
                        .out_of_memory = is_out_of_memory(verdict.cause),
                        .signal = ending.handed_on_signal != 0 ? ending.handed_on_signal
                                                               : ending.interrupting_signal};
  if (facts.exit_code != 0) facts.record = slurm::read_record(job.id);
  facts.now_seconds = seconds_since_1970();
  return facts;
}

}  // namespace plimsoll::diagnosis
