#include "process/registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/json.h"
#include "base/small_file.h"

namespace plimsoll::process {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kBootDigits = 8;

fs::path record_file(const fs::path& state, const std::string& run) {
  return state / "runs" / (run + ".json");
}

std::optional<RunRecord> read_record(const fs::path& file) {
  try {
    return record_from(read_small_file(file, JsonLimits().bytes), file.string());
  } catch (const Error&) {
    return {};  // of another version, or gone meanwhile
  }
}

}  // namespace

RunRecord record_from(std::string_view text, std::string_view name) {
  return from_json<json>(text, name, [](const json& object) {
    RunRecord record{.run = object.at("run"),
                     .host = object.at("host"),
                     .supervisor = {.boot = object.at("boot"),
                                    .pid = whole_in<pid_t>(object, "pid"),
                                    .start_ticks = whole_in<uint64_t>(object, "start_ticks")},
                     .command = object.at("command"),
                     .folder = object.at("folder"),
                     .started = object.at("started"),
                     .level = object.at("level"),
                     .groups = {},
                     .log = object.at("log")};
    for (const std::string group : object.at("groups")) record.groups.emplace_back(group);
    return record;
  });
}

std::string name_run(const ProcessId& supervisor) {
  static int runs_of_this_process = 0;
  return fmt::format("{}-{}-{}-{}", supervisor.boot.substr(0, kBootDigits), supervisor.pid,
                     supervisor.start_ticks, ++runs_of_this_process);
}

std::optional<ProcessId> supervisor_of(std::string_view run) {
  std::istringstream words{std::string(run)};
  std::string boot;
  ProcessId id;
  char dash = 0;
  if (!std::getline(words, boot, '-') || !(words >> id.pid >> dash >> id.start_ticks)) return {};
  // Of another boot: any boot id but this one's will do.
  id.boot = boot_id().starts_with(boot) ? boot_id() : boot;
  return id;
}

fs::path state_folder(const memory::Host& host) {
  if (const auto state = host.variable("XDG_STATE_HOME"); state && !state->empty()) {
    return fs::path(*state) / "plimsoll";
  }
  if (const auto home = host.variable("HOME"); home && !home->empty()) {
    return fs::path(*home) / ".local/state/plimsoll";
  }
  return {};
}

std::string host_name() {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

fs::path write_record(const fs::path& state, const RunRecord& record) {
  if (state.empty()) return {};
  std::error_code error;
  fs::create_directories(state / "runs", error);
  if (error) return {};
  json groups = json::array();
  for (const fs::path& group : record.groups) groups.push_back(group.string());
  const json object = {{"run", record.run},
                       {"host", record.host},
                       {"boot", record.supervisor.boot},
                       {"pid", record.supervisor.pid},
                       {"start_ticks", record.supervisor.start_ticks},
                       {"command", record.command},
                       {"folder", record.folder},
                       {"started", record.started},
                       {"level", record.level},
                       {"groups", groups},
                       {"log", record.log}};
  // A reader must not see half of it.
  const fs::path file = record_file(state, record.run);
  const fs::path unfinished = file.string() + ".new";
  std::ofstream(unfinished) << object.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  fs::rename(unfinished, file, error);
  return error ? fs::path() : file;
}

std::vector<RunRecord> read_records(const fs::path& state) {
  std::vector<RunRecord> records;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(state / "runs", error)) {
    if (entry.path().extension() != ".json") continue;
    auto record = read_record(entry.path());
    if (record && record->host == host_name()) records.push_back(std::move(*record));
  }
  return records;
}

void remove_record(const fs::path& state, const std::string& run) {
  std::error_code ignored;
  fs::remove(record_file(state, run), ignored);
}

}  // namespace plimsoll::process
