// plimsoll train: trains on a store and writes checkpoints and results to a folder. All refusals
// that are possible before the training library is loaded come before that.
#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "cli/command.h"
#include "cli/gpu_facts.h"
#include "cli/import.h"
#include "cli/train_options.h"
#include "cli/train_seeds.h"
#include "formats/data_root.h"
#include "launch/planning.h"
#include "launch/save_folder.h"
#include "launch/train_module.h"
#include "memory/limit.h"

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
  // Reports a wrong store first: --force would not help.
  if (!options.store.empty()) formats::open_store(options.store);
  check_save_dir(options);
  if (!options.memory_log.empty())
    check_writable("--memory-log", options.memory_log, /*force=*/true);
  find_store(options);
  const graph::Store store = formats::open_store(options.store);
  const memory::Limit limit = launch::training_limit(options.running.memory_bytes);
  launch::check_train_library();
  const bool resuming = !options.resume.empty();
  if (resuming) {
    const auto stored = launch::load_train_module().read_recipe(options.save_dir / "last.pth");
    options.recipe = resume(stored, options.recipe, options.given);
    check_for_model(options.recipe, options.given);
  }
  launch::check_trainable(store, options.recipe);
  verify_if_asked(store, options.running);
  const train::LaunchOptions& run = options.running.run;
  launch::PlannerOptions planning = {.run = run,
                                     .device = launch::training_device(run.device, gpu_facts()),
                                     .limit_bytes = limit.bytes};
  plan::Plan plan = launch::plan_training(store, options.recipe, planning);
  launch::SaveFolder save_folder(options.save_dir);
  const train::Module& module = launch::load_train_module();
  // The driver may report a GPU that torch cannot use, or not report one that it can.
  const launch::TrainingDevice device =
      launch::settled_device(run.device, module.has_gpu(), planning.device);
  if (device != planning.device) {
    planning.device = device;
    plan = launch::plan_training(store, options.recipe, planning);
  }
  if (options.force) save_folder.clear();
  say_opening(store, limit, options);
  say_plan(options.running, plan);

  memory::Ledger ledger(limit.bytes - plan::headroom_bytes(limit.bytes));
  const int signal_number = module.train({.store = store,
                                          .recipe = options.recipe,
                                          .run = launch::as_planned(run, plan),
                                          .save_dir = options.save_dir,
                                          .resume = resuming,
                                          .save_every = options.save_every,
                                          .checkpoint_minutes = options.checkpoint_minutes,
                                          .plan = plan,
                                          .memory_log = options.memory_log,
                                          .ledger = ledger});
  if (signal_number == 0) return;
  fail(ErrorKind::stopped, "stopped by signal {} ({}), {} is written; continue with:\n  {}",
       signal_number, strsignal(signal_number), (options.save_dir / "last.pth").string(),
       continuing_command(command, options));
}

constexpr const char* kFooter =
    R"(After SIGINT, SIGTERM, SIGHUP or SIGUSR1, train finishes the batch, writes last.pth and exits with
code 9. A resumed run has the same results as one that was never stopped.

The spellings of PyTorch scripts are accepted as well: --data_root, --hidden_dim, --batch_size,
--weight_decay, --num_neighbors 15 10, --num_workers, --log_steps, --save_dir.

Examples:
  plimsoll train papers.plim --model gcn --fanout 15,10 --hidden 256 --epochs 20 --save-dir models/
  plimsoll train papers.plim --resume models/
  plimsoll train papers.plim --seeds 5 --save-dir models/gcn
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
