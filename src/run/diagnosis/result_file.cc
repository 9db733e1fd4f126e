#include "diagnosis/result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <variant>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text_file.h"
#include "process/own_stream.h"
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
          {"level", ending.level ? name(*ending.level) : ""},
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

namespace {

constexpr std::chrono::seconds kPipePatience{10};
constexpr std::chrono::milliseconds kPipePause{50};

std::string text_of(const nlohmann::ordered_json& json) { return json_text(json) + "\n"; }

// Waits for a reader for a limited time.
void write_pipe(const std::filesystem::path& pipe, const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + kPipePatience;
  for (;;) {
    const Fd opened(open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (opened && process::write_patiently(opened.get(), text, kPipePatience)) return;
    if (opened || errno != ENXIO || std::chrono::steady_clock::now() > deadline) {
      fail(ErrorKind::io, "no process reads {}", pipe.string());
    }
    std::this_thread::sleep_for(kPipePause);
  }
}

}  // namespace

void write_last_run(const nlohmann::ordered_json& result) {
  const std::filesystem::path file = last_run_file();
  if (file.empty()) return;
  std::error_code none;
  std::filesystem::create_directories(file.parent_path(), none);
  try {
    io::write_whole(file, text_of(result), io::Sync::no);
  } catch (const Error&) {  // the home is not writable
  }
}

void write_result(const std::filesystem::path& target, const nlohmann::ordered_json& result,
                  io::Sync sync) {
  if (std::filesystem::is_fifo(target)) {
    write_pipe(target, text_of(result));
  } else {
    io::write_whole(target, text_of(result), sync);
  }
}

}  // namespace plimsoll::diagnosis
