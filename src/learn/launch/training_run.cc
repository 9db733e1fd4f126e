#include "launch/training_run.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/print.h"
#include "base/run_files.h"
#include "formats/data_root.h"
#include "formats/import_graph.h"
#include "io/partial_file.h"
#include "launch/planning.h"
#include "launch/save_folder.h"
#include "launch/seed_runs.h"
#include "launch/train_module.h"
#include "launch/training_device.h"

namespace plimsoll::launch {
namespace {

using recipe::RecipeField;

// Finds the store of --data_root, and imports the data set if there is none yet.
void find_store(TrainRequest& request) {
  if (request.data_root.empty()) return;
  const formats::DataRoot found = formats::resolve_data_root(request.data_root);
  request.store = found.store;
  if (found.import_from.empty()) return;
  check_train_library();
  const RunningOptions& running = request.running;
  if (!running.run.quiet) {
    print("first importing {} into {}; later runs use this store\n", found.import_from.string(),
          found.store.string());
  }
  formats::import_ogb({.folder = found.import_from},
                      {.making = {.out = found.store,
                                  .memory_bytes = running.memory_bytes,
                                  .threads = running.run.threads,
                                  .quiet = running.run.quiet}});
}

void check_save_dir(const TrainRequest& request) {
  if (request.resume.empty()) {
    check_new_run(request.save_dir, request.force);
  } else {
    check_resumable(request.save_dir);
  }
}

}  // namespace

void check_for_model(const recipe::Recipe& recipe, const recipe::RecipeFields& given) {
  if (given.contains(RecipeField::heads) && recipe.model != recipe::ModelKind::gat) {
    fail(ErrorKind::usage, "--heads needs --model gat; {} has no heads", name(recipe.model));
  }
  if (given.contains(RecipeField::norm) && recipe.model != recipe::ModelKind::gcn) {
    fail(ErrorKind::usage, "--norm needs --model gcn; {} has no such weights", name(recipe.model));
  }
  if (given.contains(RecipeField::sampler) && recipe.model == recipe::ModelKind::mlp) {
    fail(ErrorKind::usage, "--sampler needs a model that samples neighbours; mlp does not");
  }
}

graph::Store open_for_training(TrainRequest& request) {
  // Reports a wrong store first: --force would not help.
  if (!request.store.empty()) formats::open_store(request.store);
  check_save_dir(request);
  if (!request.memory_log.empty()) {
    io::check_writable("--memory-log", request.memory_log, /*force=*/true);
  }
  find_store(request);
  graph::Store store = formats::open_store(request.store);
  check_train_library();
  return store;
}

graph::Store open_on_other_rank(TrainRequest& request) {
  if (!request.data_root.empty()) {
    request.store = formats::resolve_data_root(request.data_root).store;
  }
  return formats::open_store(request.store);
}

void settle_recipe(const graph::Store& store, TrainRequest& request) {
  if (!request.resume.empty()) {
    const auto stored = load_train_module().read_recipe(
        request.save_dir / kLastCheckpoint, training_limit(request.running.memory_bytes).bytes);
    request.recipe = recipe::resume(stored, request.recipe, request.given);
    check_for_model(request.recipe, request.given);
  }
  check_trainable(store, request.recipe);
}

plan::Plan plan_for(const TrainRequest& request, const PlanFor& what) {
  const train::Execution& run = request.running.run;
  PlannerOptions planning = {.run = run,
                             .device = training_device(run.device, what.gpus),
                             .limit_bytes = what.limit_bytes};
  if (what.group != nullptr) {
    planning.ranks = what.group->place().size;
    planning.host_ranks = static_cast<unsigned>(what.group->host_ranks().size());
  }
  plan::Plan plan = plan_training(what.store, request.recipe, planning);
  // The driver may report a GPU that torch cannot use, or not report one that it can.
  const TrainingDevice device =
      settled_device(run.device, load_train_module().has_gpu(), planning.device);
  if (device != planning.device) {
    planning.device = device;
    plan = plan_training(what.store, request.recipe, planning);
  }
  return plan;
}

void say_opening(const TrainRequest& request, const graph::Store& store,
                 const memory::Limit& limit) {
  const RunningOptions& running = request.running;
  say(running, "store", describe(store));
  say(running, "model", describe(request.recipe));
  say(running, "memory", describe(limit));
  if (!request.resume.empty()) {
    say(running, "resuming", (request.save_dir / kLastCheckpoint).string());
  }
}

int run_training(const TrainRequest& request, const graph::Store& store, const plan::Plan& plan,
                 ranks::Group* group) {
  memory::Ledger ledger(plan::ledger_bytes(plan));
  return load_train_module().train({.store = store,
                                    .recipe = request.recipe,
                                    .run = as_planned(request.running.run, plan),
                                    .save_dir = request.save_dir,
                                    .resume = !request.resume.empty(),
                                    .save_every = request.save_every,
                                    .checkpoint_minutes = request.checkpoint_minutes,
                                    .plan = plan,
                                    .memory_log = request.memory_log,
                                    .logs = request.logs,
                                    .ledger = ledger,
                                    .group = group});
}

std::string continuing_command(const TrainRequest& request) {
  return fmt::format("plimsoll train {} --resume {}{}", shell_word(request.store.string()),
                     shell_word(request.save_dir.string()), request.repeated_options);
}

void fail_stopped(const TrainRequest& request, int signal_number) {
  const bool of_seeds = Host::real().variable(kOfSeeds).has_value();
  fail(ErrorKind::stopped, "stopped by signal {} ({}), {} is written{}", signal_number,
       strsignal(signal_number), (request.save_dir / kLastCheckpoint).string(),
       of_seeds ? "" : "; continue with:\n  " + continuing_command(request));
}

}  // namespace plimsoll::launch
