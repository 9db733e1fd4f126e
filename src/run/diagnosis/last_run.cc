#include "diagnosis/last_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

#include "base/json.h"
#include "base/text_file.h"
#include "process/registry.h"

namespace plimsoll::diagnosis {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const process::LeaderEnd& end) {
  if (const auto* exited = std::get_if<process::Exited>(&end)) return {{"exit_code", exited->code}};
  if (const auto* killed = std::get_if<process::Signaled>(&end))
    return {{"signal", killed->number}};
  const auto& start = std::get<process::NotStarted>(end);
  return {{"not_started", start.what}, {"errno", start.error}};
}

ordered_json or_null(const std::optional<uint64_t>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json to_json(const process::MemoryFacts& memory) {
  return {{"limit_bytes", or_null(memory.limit_bytes)},
          {"enforced_by_kernel", memory.enforced_by_kernel},
          {"peak_bytes", or_null(memory.peak_bytes)},
          {"own_limit_hits", memory.own_limit_hits},
          {"group_oom_kills", memory.group_oom_kills},
          {"host_oom_kills", memory.host_oom_kills},
          {"largest_process", memory.largest_process},
          {"largest_process_bytes", memory.largest_process_bytes}};
}

ordered_json to_json(const std::vector<meter::GpuReading>& gpus) {
  auto array = ordered_json::array();
  for (const meter::GpuReading& gpu : gpus) {
    array.push_back({{"index", gpu.index},
                     {"uuid", gpu.uuid},
                     {"total_bytes", gpu.total_bytes},
                     {"used_bytes", gpu.used_bytes},
                     {"holders", describe_holders(gpu)}});
  }
  return array;
}

}  // namespace

ordered_json result_json(const Evidence& evidence, const Verdict& verdict) {
  const process::Ending& ending = evidence.ending;
  return {{"command", ending.command},
          {"end", to_json(ending.leader)},
          {"seconds", ending.seconds},
          {"level", ending.level},
          {"leftovers_ended", ending.leftovers_ended},
          {"memory", to_json(ending.memory)},
          {"gpus_before", to_json(evidence.gpus_before)},
          {"gpus_at_end", to_json(evidence.gpus_at_end)},
          {"verdict", to_json(verdict)}};
}

nlohmann::ordered_json exec_json(const Evidence& evidence, const Verdict& verdict) {
  auto json = result_json(evidence, verdict);
  json["exit_code"] = process::exit_code(evidence.ending);
  json["run"] = evidence.ending.run;
  json["cpu_seconds"] = evidence.ending.cpu_seconds;
  json["keeper_lost"] = evidence.ending.keeper_lost;
  return json;
}

ordered_json unfinished_json(const std::vector<std::string>& command) {
  const Verdict verdict = {
      .cause = Cause::killed,
      .headline = "its end was not recorded: it is still running, or plimsoll was killed",
      .evidence = "plimsoll exec recorded only its start",
      .next_step =
          "plimsoll orphans, which lists processes left over from earlier runs; plimsoll explain "
          "137"};
  return {{"command", command}, {"verdict", to_json(verdict)}};
}

ordered_json refused_json(const std::vector<std::string>& command, const Verdict& verdict) {
  return {{"command", command},
          {"exit_code", exit_code(ErrorKind::refused)},
          {"verdict", to_json(verdict)}};
}

std::filesystem::path last_run_file(const Host& host) {
  const auto folder = process::state_folder(host);
  return folder.empty() ? folder : folder / "last.json";
}

LastRun read_last_run(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) {
    fail(ErrorKind::io, "there is no last run: {} is missing; plimsoll exec -- COMMAND writes it",
         file.empty() ? "~/.local/state/plimsoll/last.json" : file.string());
  }
  const auto take = [](const ordered_json& root) -> LastRun {
    const auto& verdict = root.at("verdict");
    return {.command = fmt::format(
                "{}", fmt::join(root.at("command").get<std::vector<std::string>>(), " ")),
            .verdict = {.cause = cause_of(verdict.at("cause").get<std::string>()),
                        .headline = verdict.at("headline").get<std::string>(),
                        .evidence = verdict.at("evidence").get<std::string>(),
                        .next_step = verdict.at("next_step").get<std::string>()}};
  };
  try {
    return from_json<ordered_json>(read_small_file(file, JsonLimits().bytes), "it", take);
  } catch (const Error& error) {
    fail(error.kind(), "{} is not a result of plimsoll exec: {}", file.string(), error.what());
  }
}

}  // namespace plimsoll::diagnosis
