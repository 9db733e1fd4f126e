// plimsoll plan: what a training would hold in memory, how long it would take, and whether it fits.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/planning.h"
#include "cli/train_options.h"
#include "plan/describe.h"

namespace plimsoll::cli {
namespace {

struct Options {
  TrainOptions train;
  bool json = false;
};

void plan(const CLI::App& command, Options& options) {
  complete_recipe(command, options.train);
  recipe::check(options.train.recipe);
  check_for_model(options.train.recipe, options.train.given);
  const graph::Store store = graph::open(options.train.store);
  const memory::Limit limit = training_limit(options.train.running);
  const plan::Question question =
      ask_plan(store, options.train.recipe, options.train.running, limit.bytes);
  const plan::Plan plan = plan::make_plan(question);
  if (options.json) {
    fmt::print("{}\n", plan::to_json(plan).dump(2));
    return;
  }
  fmt::print("  {:<11} {}\n{}", "limit", describe(limit), plan::describe(plan));
  if (!plan.fits) fmt::print("  {}\n", plan::describe_shortage(plan, question));
  fmt::print("  {:<11} {}\n", "minimum", format_bytes(plan.minimum_bytes));
  fmt::print("  PyG's NeighborLoader would need about {} for the same work\n",
             format_bytes(plan.pyg_bytes));
}

constexpr const char* kFooter = R"(Examples:
  plimsoll plan papers.plim --memory 16G --fanout 15,10 --batch-size 1024 --hidden 256)";

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plan", "Say whether a training fits into memory, before it starts");
  auto options = std::make_shared<Options>();
  command->add_option("STORE", options->train.store, "folder of the store")->required();
  add_recipe_options(*command, options->train);
  add_running_options(*command, options->train.running);
  add_json(*command, options->json);
  command->footer(kFooter);
  command->callback([command, options] { plan(*command, *options); });
}

}  // namespace plimsoll::cli
