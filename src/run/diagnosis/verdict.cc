#include "diagnosis/verdict.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace plimsoll::diagnosis {

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::success:
      return "success";
    case Cause::failed:
      return "failed";
    case Cause::own_memory_limit:
      return "own_memory_limit";
    case Cause::host_out_of_memory:
      return "host_out_of_memory";
    case Cause::memory_refused:
      return "memory_refused";
    case Cause::killed:
      return "killed";
    case Cause::interrupted:
      return "interrupted";
    case Cause::gpu_memory_own:
      return "gpu_memory_own";
    case Cause::gpu_memory_neighbour:
      return "gpu_memory_neighbour";
    case Cause::gpu_failed:
      return "gpu_failed";
    case Cause::shared_memory_full:
      return "shared_memory_full";
    case Cause::broken_pipe:
      return "broken_pipe";
    case Cause::segfault:
      return "segfault";
    case Cause::crashed:
      return "crashed";
    case Cause::timed_out:
      return "timed_out";
    case Cause::hung:
      return "hung";
    case Cause::missing_dependency:
      return "missing_dependency";
    case Cause::disk_full:
      return "disk_full";
    case Cause::not_admitted:
      return "not_admitted";
    case Cause::not_supervised:
      return "not_supervised";
    case Cause::not_started:
      return "not_started";
  }
  return "failed";
}

Verdict judge_refusal(Cause cause, const std::string& why) {
  const std::string headline = "not started: " + why;
  if (cause == Cause::not_admitted) {
    return {.cause = cause,
            .headline = headline,
            .evidence = "its GPUs did not have the room in time",
            .next_step = "a longer --gpu-wait, or end what holds the GPUs"};
  }
  return {.cause = cause,
          .headline = headline,
          .evidence = "plimsoll exec could not supervise it as asked, and did not start it",
          .next_step = "remove what the message names; plimsoll doctor says what works here"};
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
  if (verdict.gpu_room_bytes) json["gpu_room_bytes"] = *verdict.gpu_room_bytes;
  return json;
}

}  // namespace plimsoll::diagnosis
