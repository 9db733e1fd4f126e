// plimsoll orphans: what is left of runs whose plimsoll was killed, and ending exactly that.
#include "process/orphans.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;
using process::Orphan;

constexpr double kDefaultGraceSeconds = 10;
constexpr size_t kCommandColumns = 60;

struct Options {
  bool kill = false;
  bool json = false;
  std::optional<double> grace_seconds;
};

std::string shortened(const std::string& text) {
  return text.size() <= kCommandColumns ? text : text.substr(0, kCommandColumns - 3) + "...";
}

double age_seconds(const Orphan& orphan) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(std::chrono::duration<double>(now).count() - orphan.started, 0.0);
}

ordered_json to_json(const Orphan& orphan) {
  return {{"pid", orphan.process.pid},
          {"age_seconds", age_seconds(orphan)},
          {"resident_bytes", orphan.process.resident_bytes},
          {"command", orphan.command},
          {"run", orphan.run},
          {"run_command", orphan.record ? ordered_json(orphan.record->command) : ordered_json()},
          {"log", orphan.record ? ordered_json(orphan.record->log) : ordered_json()}};
}

std::string dump(const ordered_json& object) {
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

void print_table(const std::vector<Orphan>& orphans) {
  fmt::print("{:>8}  {:>13}  {:>10}  {:<28}  {}\n", "PID", "SINCE", "RAM", "RUN", "COMMAND");
  for (const Orphan& orphan : orphans) {
    fmt::print("{:>8}  {:>13}  {:>10}  {:<28}  {}\n", orphan.process.pid,
               format_seconds(age_seconds(orphan)), format_bytes(orphan.process.resident_bytes),
               orphan.run, shortened(orphan.command));
  }
}

void list(const Options& options) {
  const auto orphans = process::find_orphans();
  if (options.json) {
    ordered_json array = ordered_json::array();
    for (const Orphan& orphan : orphans) array.push_back(to_json(orphan));
    fmt::print("{}\n", dump({{"orphans", array}}));
  } else if (orphans.empty()) {
    fmt::print("nothing is left of any run\n");
  } else {
    print_table(orphans);
    fmt::print("plimsoll orphans --kill ends them\n");
  }
}

void kill(const Options& options) {
  const auto cleared = process::end_orphans(options.grace_seconds.value_or(kDefaultGraceSeconds));
  if (options.json) {
    ordered_json left = ordered_json::array();
    for (const Orphan& orphan : cleared.left) left.push_back(to_json(orphan));
    fmt::print("{}\n", dump({{"ended", cleared.ended},
                             {"groups_removed", cleared.groups_removed},
                             {"left", left}}));
  } else {
    fmt::print("ended {} process{}, removed {} control group{}\n", cleared.ended,
               cleared.ended == 1 ? "" : "es", cleared.groups_removed,
               cleared.groups_removed == 1 ? "" : "s");
  }
  if (cleared.left.empty()) return;
  print_table(cleared.left);
  fail(ErrorKind::io, "{} could not be ended: stuck in the kernel, or another user's",
       cleared.left.size());
}

}  // namespace

void add_orphans(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("orphans", "What is left of runs whose plimsoll was killed");
  auto options = std::make_shared<Options>();
  command->add_flag("--kill", options->kill, "end exactly these, and remove their control groups");
  add_duration(*command, "--grace", options->grace_seconds,
               "with --kill: from the request to end (SIGTERM) to the kill (SIGKILL)")
      ->default_str("10s");
  add_json(*command, options->json);
  command->footer("Examples:\n  plimsoll orphans\n  plimsoll orphans --kill --grace 2s");
  command->callback([options] { options->kill ? kill(*options) : list(*options); });
}

}  // namespace plimsoll::cli
