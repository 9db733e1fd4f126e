// plimsoll doctor: shows what plimsoll can guarantee on this machine, and how to improve it.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "diagnosis/checkup.h"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

struct DoctorOptions {
  std::string folder = ".";
  bool json = false;
};

void doctor(const DoctorOptions& options) {
  const diagnosis::MachineFacts facts = diagnosis::examine(options.folder);
  const auto checks = diagnosis::check_up(facts);
  if (!options.json) {
    fmt::print("{}", for_locale(diagnosis::describe(checks, shows_colours(STDOUT_FILENO))));
    return;
  }
  const ordered_json json = {{"level", name(facts.supervision.in_force)},
                             {"memory_limit_bytes", facts.now.limit.bytes},
                             {"memory_limit_source", facts.now.limit.winner},
                             {"gpus", facts.gpus.size()},
                             {"checks", to_json(checks)}};
  print_json(json);
}

constexpr const char* kDoctorFooter =
    R"(✓ good   ! works, with a weaker guarantee   ✗ will make runs fail

Examples:
  plimsoll doctor
  plimsoll doctor --folder /scratch
  plimsoll doctor --json | jq .level)";

}  // namespace

void add_doctor(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("doctor", "Show what plimsoll can guarantee on this machine");
  auto options = std::make_shared<DoctorOptions>();
  command->add_option("--folder", options->folder, "measure the disk of this folder")
      ->capture_default_str()
      ->type_name("FOLDER");
  add_json(*command, options->json);
  command->footer(kDoctorFooter);
  command->callback([options] { doctor(*options); });
}

}  // namespace plimsoll::cli
