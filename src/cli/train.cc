// plimsoll train: trains on a store and writes checkpoints and results to a folder. All refusals
// that are possible before the training library is loaded come before that.
#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "cli/command.h"
#include "cli/gpu_facts.h"
#include "cli/import.h"
#include "cli/ranked.h"
#include "cli/train_options.h"
#include "cli/train_seeds.h"
#include "formats/data_root.h"
#include "launch/planning.h"
#include "launch/save_folder.h"
#include "launch/train_module.h"
#include "memory/limit.h"
#include "ranks/rank_place.h"

namespace plimsoll::cli {
namespace {

// Finds the store of --data_root, and imports the data set if there is none yet.
void find_store(TrainOptions& options) {
  if (options.data_root.empty()) return;
  const formats::DataRoot found = formats::resolve_data_root(options.data_root);
  options.store = found.store;
  if (found.import_from.empty()) return;
  launch::check_train_library();
  const RunningOptions& running = options.running;
  print("first importing {} into {}; later runs use this store\n", found.import_from.string(),
        found.store.string());
  import_ogb(found.import_from, {.out = found.store,
                                 .memory_bytes = running.memory_bytes,
                                 .threads = running.run.threads,
                                 .quiet = running.run.quiet});
}

void check_save_dir(const TrainOptions& options) {
  if (options.resume.empty()) {
    launch::check_new_run(options.save_dir, options.force);
  } else {
    launch::check_resumable(options.save_dir);
  }
}

// A rank that writes nothing does not need the save folder.
graph::Store open_on_other_rank(TrainOptions& options) {
  if (!options.data_root.empty()) {
    options.store = formats::resolve_data_root(options.data_root).store;
  }
  return formats::open_store(options.store);
}

void say_opening(const graph::Store& store, const memory::Limit& limit,
                 const TrainOptions& options) {
  const RunningOptions& running = options.running;
  say(running, "store", describe(store));
  say(running, "model", describe(options.recipe));
  say(running, "memory", describe(limit));
  if (!options.resume.empty()) {
    say(running, "resuming", (options.save_dir / "last.pth").string());
  }
}

// The plan, on the device that torch can use. `group` is null if this process trains alone.
plan::Plan plan_for(const graph::Store& store, const TrainOptions& options, uint64_t limit_bytes,
                    const ranks::Group* group) {
  const train::LaunchOptions& run = options.running.run;
  launch::PlannerOptions planning = {.run = run,
                                     .device = launch::training_device(run.device, gpu_facts()),
                                     .limit_bytes = limit_bytes};
  if (group != nullptr) {
    planning.ranks = group->place().size;
    planning.host_ranks = static_cast<unsigned>(group->host_ranks().size());
  }
  plan::Plan plan = launch::plan_training(store, options.recipe, planning);
  // The driver may report a GPU that torch cannot use, or not report one that it can.
  const launch::TrainingDevice device =
      launch::settled_device(run.device, launch::load_train_module().has_gpu(), planning.device);
  if (device != planning.device) {
    planning.device = device;
    plan = launch::plan_training(store, options.recipe, planning);
  }
  return plan;
}

// Reads the recipe of the run to continue, if it is one.
void take_recipe(TrainOptions& options) {
  if (options.resume.empty()) return;
  const auto stored = launch::load_train_module().read_recipe(options.save_dir / "last.pth");
  options.recipe = resume(stored, options.recipe, options.given);
  check_for_model(options.recipe, options.given);
}

// Everything that can be refused before the plan.
graph::Store open_and_check(TrainOptions& options) {
  // Reports a wrong store first: --force would not help.
  if (!options.store.empty()) formats::open_store(options.store);
  check_save_dir(options);
  if (!options.memory_log.empty())
    check_writable("--memory-log", options.memory_log, /*force=*/true);
  find_store(options);
  graph::Store store = formats::open_store(options.store);
  launch::check_train_library();
  return store;
}

void check_recipe(const graph::Store& store, TrainOptions& options) {
  take_recipe(options);
  launch::check_trainable(store, options.recipe);
}

[[noreturn]] void fail_stopped(const CLI::App& command, const TrainOptions& options,
                               int signal_number) {
  fail(ErrorKind::stopped, "stopped by signal {} ({}), {} is written; continue with:\n  {}",
       signal_number, strsignal(signal_number), (options.save_dir / "last.pth").string(),
       continuing_command(command, options));
}

int run_training(const TrainOptions& options, const graph::Store& store, const plan::Plan& plan,
                 ranks::Group* group) {
  memory::Ledger ledger(plan::ledger_bytes(plan));
  return launch::load_train_module().train({.store = store,
                                            .recipe = options.recipe,
                                            .run = launch::as_planned(options.running.run, plan),
                                            .save_dir = options.save_dir,
                                            .resume = !options.resume.empty(),
                                            .save_every = options.save_every,
                                            .checkpoint_minutes = options.checkpoint_minutes,
                                            .plan = plan,
                                            .memory_log = options.memory_log,
                                            .ledger = ledger,
                                            .group = group});
}

void train_alone(const CLI::App& command, TrainOptions& options) {
  const graph::Store store = open_and_check(options);
  const memory::Limit limit = launch::training_limit(options.running.memory_bytes);
  check_recipe(store, options);
  verify_if_asked(store, options.running);
  const plan::Plan plan = plan_for(store, options, limit.bytes, nullptr);
  launch::SaveFolder save_folder(options.save_dir);
  if (options.force) save_folder.clear();
  say_opening(store, limit, options);
  say_plan(options.running, plan);
  const int signal_number = run_training(options, store, plan, nullptr);
  if (signal_number != 0) fail_stopped(command, options, signal_number);
}

// The ranks of a host plan under one limit. The first measures the machine if that is necessary,
// and the others find its figures in the cache.
plan::Plan plan_together(ranks::Group& group, const graph::Store& store, TrainOptions& options,
                         memory::Limit& limit) {
  const std::vector<unsigned> here = group.host_ranks();
  limit.bytes = share_number(group, limit.bytes)[here.front()];
  plan::Plan plan;
  for (const bool leaders : {true, false}) {
    together(group, [&] {
      if (group.leads_host() == leaders) plan = plan_for(store, options, limit.bytes, &group);
    });
  }
  return plan;
}

// As one of several ranks. Every step is taken by all of them; a refusal on one ends them all.
int train_with(ranks::Group& group, TrainOptions& options) {
  std::optional<graph::Store> store;
  // Rank 0 first: it may have to import the data set, and it alone writes to the save folder.
  for (const bool first : {true, false}) {
    together(group, [&] {
      if (group.first() != first) return;
      store = first ? open_and_check(options) : open_on_other_rank(options);
    });
  }
  memory::Limit limit = launch::training_limit(options.running.memory_bytes);
  together(group, [&] {
    check_recipe(*store, options);
    check_for_ranks(options.recipe, group.place().size);
    if (group.leads_host()) verify_if_asked(*store, options.running);
  });
  const plan::Plan plan = plan_together(group, *store, options, limit);
  std::optional<launch::SaveFolder> save_folder;
  together(group, [&] {
    if (!group.first()) return;
    save_folder.emplace(options.save_dir);
    if (options.force) save_folder->clear();
  });
  say_opening(*store, limit, options);
  say(options.running, "ranks", describe_ranks(group));
  say_plan(options.running, plan);
  const int signal_number = run_training(options, *store, plan, &group);
  group.leave();
  return signal_number;
}

void train_as_rank(const CLI::App& command, TrainOptions& options, const ranks::RankPlace& place) {
  const auto group = join(command, options.running, place);
  const auto remedy = [&] {
    return std::filesystem::exists(options.save_dir / "last.pth")
               ? "continue with:\n  " + continuing_command(command, options)
               : "nothing is saved yet: start again";
  };
  const int signal_number =
      end_together(*group, remedy, [&] { return train_with(*group, options); });
  if (signal_number == 0) return;
  if (!group->speaks()) throw ExitWith{exit_code(ErrorKind::stopped)};
  fail_stopped(command, options, signal_number);
}

// --ranks: starts the ranks, after what can be refused once for all of them. A recipe to continue
// with is in a checkpoint, which only the ranks can read.
void start_ranks(TrainOptions& options, const ranks::RankPlace& place) {
  const graph::Store store = open_and_check(options);
  if (options.resume.empty()) {
    check_recipe(store, options);
    check_for_ranks(options.recipe, place.size);
  }
  launch_ranks("train", place.size);
}

void train(const CLI::App& command, TrainOptions& options) {
  complete(command, options);
  watch_also(SIGUSR1);
  if (options.seeds > 0) {
    train_seeds({.first = options.recipe.seed,
                 .count = options.seeds,
                 .folder = options.save_dir,
                 .resume = !options.resume.empty(),
                 .force = options.force});
    return;
  }
  const ranks::RankPlace place = ranks::find_place(Host::real().variable, options.running.ranks);
  switch (place.source) {
    case ranks::RankSource::none:
      return train_alone(command, options);
    case ranks::RankSource::option:
      return start_ranks(options, place);
    default:
      return train_as_rank(command, options, place);
  }
}

constexpr const char* kFooter =
    R"(After SIGINT, SIGTERM, SIGHUP or SIGUSR1, train finishes the batch, writes last.pth and exits with
code 9. A resumed run has the same results as one that was never stopped.

The spellings of PyTorch scripts are accepted as well: --data_root, --hidden_dim, --batch_size,
--weight_decay, --num_neighbors 15 10, --num_workers, --log_steps, --save_dir.

Several processes can train together: --ranks N starts them here; under torchrun and srun each
process finds its place by itself. N ranks learn what one process learns (docs/training.md).

Examples:
  plimsoll train papers.plim --model gcn --fanout 15,10 --hidden 256 --epochs 20 --save-dir models/
  plimsoll train papers.plim --resume models/
  plimsoll train papers.plim --save-dir models/ --resume auto
  plimsoll train papers.plim --seeds 5 --save-dir models/gcn
  plimsoll train papers.plim --ranks 4 --threads 2
  plimsoll train --data_root dataset/ --num_neighbors 15 10 --batch_size 1024)";

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train a graph neural network on a store");
  auto options = std::make_shared<TrainOptions>();
  add_train_options(*command, *options);
  command->footer(kFooter);
  command->callback([command, options] { train(*command, *options); });
}

}  // namespace plimsoll::cli
