#include "diagnosis/verdict.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace plimsoll::diagnosis {

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

}  // namespace plimsoll::diagnosis
