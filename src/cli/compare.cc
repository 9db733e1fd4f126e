// plimsoll compare: two trainings side by side.
#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "screen/screen.h"

namespace plimsoll::cli {
namespace {

struct CompareOptions {
  screen::ComparedTrainings folders;
  bool json = false;
};

void compare(const CompareOptions& options) {
  if (options.json) {
    print_json(screen::comparison_json(options.folders));
  } else {
    screen::print_comparison(options.folders);
  }
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "Compare two trainings");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("RUN_A", options->folders.a, "folder of a training, its --save-dir")
      ->required();
  command->add_option("RUN_B", options->folders.b, "folder of another one")->required();
  add_json(*command, options->json);
  command->footer(
      R"(Shows what differs in their recipes, and accuracy, time, memory and curves side by side. If a
folder holds several seeds (train --seeds), it also tests whether the differences are real.

Examples:
  plimsoll compare models/gcn models/sage)");
  command->callback([options] { compare(*options); });
}

}  // namespace plimsoll::cli
