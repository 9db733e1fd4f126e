// plimsoll orphans: lists processes left over from runs whose plimsoll was killed, and ends exactly
// these.
#include "process/orphans.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "meter/gpu.h"
#include "process/tree.h"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;
using process::Leftovers;
using process::RunElsewhere;

struct OrphansOptions {
  bool kill = false;
  bool json = false;
  std::optional<double> grace_seconds;
};

// Prints what is left alone, and what the user can do about it.
void print_left_alone(const Leftovers& left) {
  for (const RunElsewhere& run : left.elsewhere) {
    print("run {} is in another PID namespace and is left alone: {}\n", run.run,
          process::command_of(run));
  }
  if (!left.elsewhere.empty()) {
    print(
        "run plimsoll orphans inside that namespace; if the namespace no longer exists, remove the "
        "record in {}\n",
        (process::state_folder() / "runs").string());
  }
  for (const process::UnusableRecord& record : left.unusable) {
    print_to(stderr,
             "plimsoll orphans: {} {}: it is left alone; look at it, end the processes that it "
             "names yourself, and remove it\n",
             record.file.string(), record.why);
  }
}

void list(const OrphansOptions& options) {
  const Leftovers left = process::find_leftovers();
  if (options.json) {
    ordered_json json = {{"orphans", process::to_json(left.orphans, meter::gpu_memory())}};
    json.update(process::left_alone_json(left));
    print_json(json);
    return;
  }
  if (!left.orphans.empty()) {
    print("{}", process::describe(left.orphans, meter::gpu_memory()));
    print("plimsoll orphans --kill ends them\n");
  } else {
    print("no processes are left over from earlier runs{}\n",
          left.elsewhere.empty() ? "" : " in this PID namespace");
  }
  print_left_alone(left);
}

void kill(const OrphansOptions& options) {
  const auto cleared =
      process::end_orphans(options.grace_seconds.value_or(process::kDefaultGraceSeconds));
  if (options.json) {
    ordered_json json = {{"ended", cleared.ended},
                         {"groups_removed", cleared.groups_removed},
                         {"left", process::to_json(cleared.left.orphans, meter::gpu_memory())}};
    json.update(process::left_alone_json(cleared.left));
    print_json(json);
  } else {
    print("ended {}, removed {}\n", counted(cleared.ended, "process"),
          counted(cleared.groups_removed, "control group"));
    print_left_alone(cleared.left);
  }
  if (cleared.left.orphans.empty()) return;
  if (!options.json) print("{}", process::describe(cleared.left.orphans, meter::gpu_memory()));
  fail(ErrorKind::io, "{} could not be ended: stuck in the kernel, or owned by another user",
       counted(cleared.left.orphans.size(), "process"));
}

}  // namespace

void add_orphans(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("orphans", "List or end processes left over from killed runs");
  auto options = std::make_shared<OrphansOptions>();
  command->add_flag("--kill", options->kill, "end exactly these, and remove their control groups");
  add_duration(*command, "--grace", options->grace_seconds,
               "with --kill: from the request to end (SIGTERM) to the kill (SIGKILL)")
      ->default_str("10s");
  add_json(*command, options->json);
  command->footer("Examples:\n  plimsoll orphans\n  plimsoll orphans --kill --grace 2s");
  command->callback([options] { options->kill ? kill(*options) : list(*options); });
}

}  // namespace plimsoll::cli
