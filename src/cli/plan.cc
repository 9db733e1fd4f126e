// plimsoll plan: what a training would hold in memory, how long it would take, and whether it fits;
// for several limits and fan-outs a table; or the fastest setting. Allocates nothing large.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/open_store.h"
#include "cli/planning.h"
#include "cli/train_options.h"
#include "memory/automatic_limit.h"
#include "plan/describe.h"
#include "plan/fastest.h"
#include "plan/to_json.h"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  TrainOptions train;
  std::vector<std::string> fanouts_words;            // as they stand on the command line
  std::vector<std::optional<uint64_t>> memory = {};  // nothing = auto
  bool fastest = false;
  bool calibrate = false;
  bool json = false;
};

// The recipes to plan: one for each of --fanouts. The word after the last fan-out may be the store,
// as with --fanout.
std::vector<recipe::Recipe> recipes(const CLI::App& command, Options& options) {
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
      fail(ErrorKind::usage, "--fanouts: '{}' is not a fan-out; write them like 15,10 10,10,10",
           word);
    }
  }
  if (train.store.empty()) fail(ErrorKind::usage, "STORE is missing; name the folder of a store");
  if (all.empty()) all.push_back(train.recipe);
  for (const recipe::Recipe& recipe : all) {
    recipe::check(recipe);
    check_for_model(recipe, train.given);
  }
  return all;
}

// Unlike a training's, a planned limit may be more than this machine has.
memory::Limit planned_limit(const std::optional<uint64_t>& bytes) {
  if (!bytes) return memory::automatic_limit();
  memory::Limit limit = memory::detect_limit();
  limit.bytes = *bytes;
  limit.winner = "--memory";
  return limit;
}

std::vector<memory::Limit> limits(const Options& options) {
  if (options.memory.empty()) return {planned_limit({})};
  std::vector<memory::Limit> all;
  for (const auto& bytes : options.memory) all.push_back(planned_limit(bytes));
  return all;
}

void print(const ordered_json& json) { fmt::print("{}\n", json.dump(2)); }

ordered_json asked_json(const recipe::Recipe& recipe) {
  return {{"model", name(recipe.model)},
          {"fanout", recipe::to_json(recipe.fanout)},
          {"batch_size", recipe.batch_size},
          {"hidden", recipe.hidden}};
}

// The plan's keys beside what was asked.
ordered_json answer_json(const recipe::Recipe& recipe, const plan::Plan& plan) {
  ordered_json json = asked_json(recipe);
  json.update(plan::to_json(plan));
  return json;
}

void say_limit(const memory::Limit& limit) {
  fmt::print("  {:<11} {}\n", "limit", describe(limit));
  const uint64_t machine_bytes = limit.sources.front().bytes;
  if (limit.bytes <= machine_bytes) return;
  fmt::print("  {:<11} here a training would get {}\n", "", format_bytes(machine_bytes));
}

void say_pyg(const plan::Plan& plan) {
  fmt::print("  PyG's NeighborLoader would need about {} for the same work\n",
             format_bytes(plan.pyg_bytes));
}

void show_one(Planner& planner, const recipe::Recipe& recipe, const memory::Limit& limit,
              bool json) {
  const plan::Question question = planner.question(recipe, limit.bytes);
  const plan::Plan plan = plan::make_plan(question);
  const auto remedies = plan.fits ? std::vector<plan::Remedy>() : planner.remedies(question);
  if (json) {
    ordered_json object = answer_json(recipe, plan);
    object["limit"] = describe(limit);
    if (!plan.fits) object["remedies"] = plan::to_json(remedies);
    print(object);
  } else {
    say_limit(limit);
    fmt::print("{}", plan::describe(plan));
    say_pyg(plan);
  }
  if (!plan.fits) fail(ErrorKind::memory, "{}", explain_shortage(plan, question, remedies));
}

void show_table(Planner& planner, const std::vector<recipe::Recipe>& recipes,
                const std::vector<memory::Limit>& limits, bool json) {
  std::vector<plan::Row> rows;
  ordered_json list = ordered_json::array();
  uint64_t least = UINT64_MAX;
  for (const recipe::Recipe& recipe : recipes) {
    for (const memory::Limit& limit : limits) {
      rows.push_back({recipe.fanout, plan::make_plan(planner.question(recipe, limit.bytes))});
      list.push_back(answer_json(recipe, rows.back().plan));
      least = std::min(least, rows.back().plan.minimum_bytes);
    }
  }
  if (json) {
    print({{"plans", list}});
  } else {
    fmt::print("{}", plan::describe_table(rows));
    say_pyg(rows.front().plan);
  }
  if (std::none_of(rows.begin(), rows.end(), [](const plan::Row& row) { return row.plan.fits; })) {
    fail(ErrorKind::memory, "none of them fits; the least of them needs {}",
         format_bytes_up(least));
  }
}

void show_fastest(Planner& planner, const CLI::App& command, const Options& options,
                  const memory::Limit& limit) {
  TrainOptions chosen = options.train;
  const plan::Question question = planner.question(chosen.recipe, limit.bytes);
  const plan::Fastest fastest = plan::find_fastest(
      question, planner.draws(chosen.recipe),
      {.batch_size = !chosen.given.contains("batch_size"), .workers = question.workers == 0});
  const plan::Setting& best = fastest.best;
  if (!best.plan.fits) {
    show_one(planner, chosen.recipe, limit, options.json);
    return;
  }
  chosen.recipe.batch_size = best.batch_size;
  chosen.given.insert("batch_size");
  chosen.running.run.workers = best.workers;
  const auto memory = command.get_option("--memory")->results();
  const std::string train =
      training_command(command, chosen, memory.empty() ? std::string() : memory.back());
  if (options.json) {
    ordered_json object = asked_json(chosen.recipe);
    object["limit"] = describe(limit);
    object.update(plan::to_json(fastest));
    object["command"] = train;
    print(object);
    return;
  }
  say_limit(limit);
  fmt::print("\n{}\n{}", plan::describe_settings(fastest), plan::describe(best.plan));
  const plan::Arrangement& arrangement = best.plan.arrangement;
  fmt::print("  {:<11} {} workers, {} {} a worker at once, {} ready ahead\n", "prefetch",
             arrangement.workers, arrangement.window, arrangement.window == 1 ? "batch" : "batches",
             arrangement.ahead);
  fmt::print("\n{}\n", train);
  fmt::print("The batch size changes what is learned: train never changes it by itself.\n");
}

void plan(const CLI::App& command, Options& options) {
  const std::vector<recipe::Recipe> asked = recipes(command, options);
  const std::vector<memory::Limit> under = limits(options);
  const bool several = asked.size() * under.size() > 1;
  if (several && options.fastest) {
    fail(ErrorKind::usage, "--fastest takes one --memory and one --fanout");
  }
  const graph::Store store = open_store(options.train.store);
  for (const recipe::Recipe& recipe : asked) check_trainable(store, recipe);
  Planner planner(store, options.train.running.run, options.calibrate);
  if (options.fastest) {
    options.train.recipe = asked.front();
    show_fastest(planner, command, options, under.front());
  } else if (several) {
    show_table(planner, asked, under, options.json);
  } else {
    show_one(planner, asked.front(), under.front(), options.json);
  }
}

constexpr const char* kFooter =
    R"(Exit code 0: it fits, or one of several does; 4: it does not, and the message says what would.
The first plan on a machine measures it for two seconds and keeps the figures in ~/.cache/plimsoll.

Examples:
  plimsoll plan papers.plim --memory 16G --fanout 15,10 --batch-size 1024 --hidden 256
  plimsoll plan papers.plim --memory 8G,16G,32G,64G --fanouts 15,10 10,10,10
  plimsoll plan papers.plim --memory 8G --fastest)";

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plan", "Say whether a training fits into memory, before it starts");
  auto options = std::make_shared<Options>();
  command->add_option("STORE", options->train.store, "folder of the store");
  add_recipe_options(*command, options->train);
  command
      ->add_option("--fanouts", options->fanouts_words,
                   "several fan-outs, as 15,10 10,10,10: a line of the table each")
      ->type_name("LIST")
      ->excludes("--fanout")
      ->group(command->get_option("--fanout")->get_group());
  add_device_options(*command, options->train.running.run);
  add_training_memories(*command, options->memory);
  command
      ->add_flag("--fastest", options->fastest,
                 "find the fastest batch size and prefetch for this memory; what you give is kept")
      ->group(kResources);
  command
      ->add_flag("--calibrate", options->calibrate,
                 "measure the machine again, for instance when it was busy the first time")
      ->group(kResources);
  add_json(*command, options->json);
  command->footer(kFooter);
  command->callback([command, options] { plan(*command, *options); });
}

}  // namespace plimsoll::cli
