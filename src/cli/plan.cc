// plimsoll plan: predicts the memory and time of a training and whether it fits; a table for
// several limits and fan-outs; or the fastest setting. Allocates nothing large.
#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/train_options.h"
#include "launch/planning.h"
#include "launch/rank_steps.h"
#include "launch/shape_estimate.h"
#include "launch/training_device.h"
#include "memory/limit.h"
#include "plan/describe.h"
#include "screen/screen.h"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

struct PlanOptions {
  TrainOptions train;
  std::vector<std::string> fanouts_words;            // as they stand on the command line
  std::vector<std::optional<uint64_t>> memory = {};  // nothing = auto
  launch::ShapeOptions shape;
  bool fastest = false;
  std::vector<uint64_t> batch_sizes;
  bool any_batch_size = false;
  bool calibrate = false;
  bool json = false;
  bool plot = false;
};

// The recipes to plan: one for each of --fanouts. The word after the last fan-out may be the store,
// as with --fanout.
std::vector<recipe::Recipe> recipes(const CLI::App& command, PlanOptions& options) {
  TrainOptions& train = options.train;
  complete_recipe(command, train);
  std::vector<recipe::Recipe> all;
  for (const std::string& word : options.fanouts_words) {
    const auto fanout = recipe::parse_fanout(word);
    if (fanout) {
      all.push_back(train.recipe);
      all.back().fanout = *fanout;
    } else if (!all.empty() && train.store.empty() && &word == &options.fanouts_words.back()) {
      train.store = word;
    } else {
      fail(ErrorKind::usage,
           "--fanouts: '{}' is not a fan-out; write them like 15,10 10,10,10: for each layer a "
           "number from 1 up, or all",
           word);
    }
  }
  if (train.store.empty() && !options.shape.any()) {
    fail(ErrorKind::usage,
         "STORE is missing; name the folder of a store, a data set such as papers100M, or its "
         "--nodes, --edges, --columns and --classes");
  }
  if (all.empty()) all.push_back(train.recipe);
  for (const recipe::Recipe& recipe : all) {
    recipe::check(recipe);
    launch::check_for_model(recipe, train.given);
  }
  return all;
}

std::vector<memory::Limit> limits(const PlanOptions& options) {
  if (options.memory.empty()) return {launch::planned_limit({})};
  std::vector<memory::Limit> all;
  for (const auto& bytes : options.memory) all.push_back(launch::planned_limit(bytes));
  return all;
}

void say_limit(const memory::Limit& limit) {
  fmt::print("  {:<11} {}\n", "limit", describe(limit));
  const uint64_t machine_bytes = limit.sources.front().bytes;
  if (limit.bytes <= machine_bytes) return;
  fmt::print("  {:<11} on this machine a training would get {}\n", "", format_bytes(machine_bytes));
}

void say_pyg(const plan::Plan& plan) {
  fmt::print("  PyG's NeighborLoader would need about {} for the same work\n",
             format_bytes(plan.pyg_bytes));
}

void show_one(launch::Planner& planner, const recipe::Recipe& recipe, const memory::Limit& limit,
              const PlanOptions& options, const launch::ShapeEstimate* estimate) {
  const plan::Question question = planner.question(recipe, limit.bytes);
  const plan::Plan plan = plan::make_plan(question);
  if (plan.fits) launch::check_gpu_memory(options.train.running.run, plan);
  const auto remedies = plan.fits ? std::vector<plan::Remedy>() : planner.remedies(question);
  if (options.json) {
    ordered_json object = plan::to_json(plan::PlanRow{.recipe = recipe, .plan = plan});
    object["limit"] = describe(limit);
    if (estimate != nullptr) object["estimate"] = to_json(*estimate);
    if (!plan.fits) object["remedies"] = plan::to_json(remedies);
    print_json(object);
  } else {
    if (estimate != nullptr) fmt::print("{}", describe(*estimate));
    say_limit(limit);
    fmt::print("{}", for_locale(plan::describe(plan)));
    say_pyg(plan);
    if (options.plot) screen::print_plot(screen::memory_parts(plan));
  }
  if (!plan.fits) fail(ErrorKind::memory, "{}", launch::explain_shortage(plan, question, remedies));
}

void show_table(launch::Planner& planner, const std::vector<recipe::Recipe>& recipes,
                const std::vector<memory::Limit>& limits, const PlanOptions& options,
                const launch::ShapeEstimate* estimate) {
  std::vector<plan::PlanRow> rows;
  uint64_t least = UINT64_MAX;
  for (const recipe::Recipe& recipe : recipes) {
    for (const memory::Limit& limit : limits) {
      rows.push_back({recipe, plan::make_plan(planner.question(recipe, limit.bytes))});
      least = std::min(least, rows.back().plan.minimum_bytes);
    }
  }
  if (options.json) {
    ordered_json object = plan::to_json(rows);
    if (estimate != nullptr) object["estimate"] = to_json(*estimate);
    print_json(object);
  } else {
    if (estimate != nullptr) fmt::print("{}", describe(*estimate));
    fmt::print("{}", for_locale(plan::describe_table(rows)));
    say_pyg(rows.front().plan);
    if (options.plot) screen::print_plots(screen::epoch_times(rows));
  }
  if (std::none_of(rows.begin(), rows.end(),
                   [](const plan::PlanRow& row) { return row.plan.fits; })) {
    fail(ErrorKind::memory, "none of these settings fits; the smallest needs {}",
         format_bytes_up(least));
  }
}

// A batch size changes what is learned, so other sizes are tried only if the user asks for them.
std::vector<uint64_t> batch_sizes(const PlanOptions& options, const plan::Question& question) {
  if (options.any_batch_size) return plan::usual_batch_sizes(question);
  return options.batch_sizes;
}

void show_fastest(launch::Planner& planner, const CLI::App& command, const PlanOptions& options,
                  const memory::Limit& limit, const launch::ShapeEstimate* estimate) {
  TrainOptions chosen = options.train;
  const plan::Question question = planner.question(chosen.recipe, limit.bytes);
  const plan::Fastest fastest = plan::find_fastest(
      question, planner.draws(chosen.recipe),
      {.batch_sizes = batch_sizes(options, question), .workers = question.workers == 0});
  const plan::Setting& best = fastest.best;
  if (!best.plan.fits) {
    show_one(planner, chosen.recipe, limit, options, estimate);
    return;
  }
  const bool other_batch_size = best.batch_size != chosen.recipe.batch_size;
  chosen.recipe.batch_size = best.batch_size;
  if (other_batch_size) chosen.given.insert(recipe::RecipeField::batch_size);
  chosen.running.run.workers = best.workers;
  const auto memory = command.get_option("--memory")->results();
  const std::string train =
      train_command_line(command, chosen, memory.empty() ? std::string() : memory.back());
  if (options.json) {
    ordered_json object = plan::asked_json(chosen.recipe);
    object["limit"] = describe(limit);
    object.update(plan::to_json(fastest));
    object["command"] = train;
    print_json(object);
    return;
  }
  say_limit(limit);
  fmt::print("\n{}\n{}", plan::describe_settings(fastest), for_locale(plan::describe(best.plan)));
  const plan::Arrangement& arrangement = best.plan.arrangement;
  fmt::print("  {:<11} {}, windows of {}, {} ready ahead\n", "prefetch",
             counted(arrangement.workers, "worker"), counted(arrangement.window, "batch"),
             counted(arrangement.ahead, "batch"));
  fmt::print("\n{}\n", train);
  if (other_batch_size) {
    fmt::print("The batch size changes what is learned, so train never changes it by itself.\n");
  }
}

void plan(const CLI::App& command, PlanOptions& options) {
  const std::vector<recipe::Recipe> asked = recipes(command, options);
  const std::vector<memory::Limit> under = limits(options);
  const bool several = asked.size() * under.size() > 1;
  if (several && options.fastest) {
    fail(ErrorKind::usage, "--fastest takes one --memory and one --fanout");
  }
  if (!options.fastest && (options.any_batch_size || !options.batch_sizes.empty())) {
    fail(ErrorKind::usage, "--batch-sizes and --any-batch-size need --fastest");
  }
  const auto estimate =
      launch::estimate_of(options.train.store, options.shape, options.train.running.run.threads);
  const std::optional<graph::Store> store =
      estimate ? std::nullopt : std::optional(launch::open_planned(options.train.store));
  if (store) {
    for (const recipe::Recipe& recipe : asked) launch::check_trainable(*store, recipe);
  }
  train::Execution& run = options.train.running.run;
  const unsigned ranks = std::max(1U, options.train.running.ranks);
  launch::divide_threads(options.train.running, ranks);
  for (const recipe::Recipe& recipe : asked) launch::check_for_ranks(recipe, ranks);
  launch::choose_gpu(options.train.running.gpu);
  launch::Planner planner(estimate ? estimate->planned() : launch::Planned{*store},
                          {.run = run,
                           .device = launch::training_device(run.device, gpu_facts()),
                           .calibrate = options.calibrate,
                           .ranks = ranks,
                           .host_ranks = ranks});
  if (options.fastest) {
    options.train.recipe = asked.front();
    show_fastest(planner, command, options, under.front(), estimate.get());
  } else if (several) {
    show_table(planner, asked, under, options, estimate.get());
  } else {
    show_one(planner, asked.front(), under.front(), options, estimate.get());
  }
}

constexpr const char* kPlanFooter =
    R"(Exit code 0: it fits, or one of several settings does. 4: it does not fit; the message says what
would. The first plan on a machine measures its speed for some seconds and keeps the result in
~/.cache/plimsoll.

Examples:
  plimsoll plan papers.plim --memory 16G --fanout 15,10 --batch-size 1024 --hidden 256
  plimsoll plan papers.plim --memory 8G,16G,32G,64G --fanouts 15,10 10,10,10
  plimsoll plan papers.plim --memory 8G --fastest
  plimsoll plan papers100M --memory 16G
  plimsoll plan --nodes 111M --edges 1.6G --columns 128 --classes 172 --train-nodes 1.2M)";

constexpr const char* kShape = "A data set that is not on this machine";

void add_count(CLI::App& command, const char* name, std::optional<uint64_t>& count,
               const char* description) {
  command
      .add_option_function<std::string>(
          name, [&count](const std::string& text) { count = launch::parse_short_count(text); },
          description)
      ->check(CLI::Validator(
          [](std::string& text) -> std::string {
            try {
              launch::parse_short_count(text);
              return {};
            } catch (const Error& error) {
              return error.what();
            }
          },
          ""))
      ->type_name("N")
      ->group(kShape);
}

void add_shape_options(CLI::App& command, launch::ShapeOptions& shape) {
  add_count(command, "--nodes", shape.nodes, "number of nodes, as 2500000 or 111M");
  add_count(command, "--edges", shape.edges, "number of edges, as listed in the data set, as 1.6G");
  add_count(command, "--columns", shape.columns, "number of feature columns");
  add_count(command, "--classes", shape.classes, "number of classes");
  add_count(command, "--train-nodes", shape.train_nodes,
            "number of training nodes; default: those of the data set, or 60 % of the nodes");
  command
      .add_flag("--directed", shape.directed,
                "plan for an import with --directed, without reverse edges")
      ->group(kShape);
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plan", "Predict the memory and time of a training, and whether it fits");
  auto options = std::make_shared<PlanOptions>();
  command->add_option(
      "STORE", options->train.store,
      "folder of the store; or papers100M, products or arxiv, which need no download");
  add_shape_options(*command, options->shape);
  add_recipe_options(*command, options->train);
  command
      ->add_option("--fanouts", options->fanouts_words,
                   "several fan-outs, as 15,10 10,10,10: one line of a table for each")
      ->type_name("LIST")
      ->excludes("--fanout")
      ->group(command->get_option("--fanout")->get_group());
  add_device_options(*command, options->train.running);
  add_training_memories(*command, options->memory);
  add_ranks(*command, options->train.running.ranks);
  command
      ->add_flag("--fastest", options->fastest,
                 "find the fastest numbers of workers and of batches made ahead for this memory; "
                 "options that you give stay as they are")
      ->group(kResources);
  command
      ->add_option("--batch-sizes", options->batch_sizes,
                   "with --fastest: batch sizes to choose from, as 256,512,1024; a batch size "
                   "changes what is learned")
      ->delimiter(',')
      ->check(whole_number(1, 0xffffffffU))
      ->type_name("LIST")
      ->group(kResources);
  command
      ->add_flag("--any-batch-size", options->any_batch_size,
                 "with --fastest: choose from 256 to 4096")
      ->excludes("--batch-sizes")
      ->group(kResources);
  command
      ->add_flag("--calibrate", options->calibrate,
                 "measure the machine again, for instance if it was busy the first time")
      ->group(kResources);
  add_json(*command, options->json);
  add_plot(*command, options->plot);
  command->footer(kPlanFooter);
  command->callback([command, options] { plan(*command, *options); });
}

}  // namespace plimsoll::cli
