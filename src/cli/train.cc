// plimsoll train: trains on a store and writes checkpoints and results to a folder. All refusals
// that are possible before the training library is loaded come before that.
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/train_options.h"
#include "launch/planning.h"
#include "launch/rank_steps.h"
#include "launch/save_folder.h"
#include "launch/seed_runs.h"
#include "launch/training_device.h"
#include "launch/training_run.h"
#include "memory/limit.h"
#include "ranks/rank_place.h"
#include "screen/screen.h"

namespace plimsoll::cli {
namespace {

using launch::together;
using launch::TrainRequest;

void train_alone(TrainRequest& request) {
  const graph::Store store = launch::open_for_training(request);
  const memory::Limit limit = launch::training_limit(request.running.memory_bytes);
  launch::settle_recipe(store, request);
  launch::verify_if_asked(store, request.running);
  launch::choose_gpu(request.running.gpu);
  const plan::Plan plan = launch::plan_for(request, {store, limit.bytes, gpu_facts()});
  launch::SaveFolder save_folder(request.save_dir);
  if (request.force) save_folder.clear();
  launch::say_opening(request, store, limit);
  launch::say_plan(request.running, plan);
  const int signal_number = launch::run_training(request, store, plan, nullptr);
  if (signal_number != 0) launch::fail_stopped(request, signal_number);
}

// Trains as one of several ranks. All of them take every step; a refusal on one ends all.
int train_with(ranks::Group& group, TrainRequest& request) {
  std::optional<graph::Store> store;
  // Rank 0 first: it may have to import the data set, and it alone writes to the save folder.
  for (const bool first : {true, false}) {
    together(group, [&] {
      if (group.first() != first) return;
      store = first ? launch::open_for_training(request) : launch::open_on_other_rank(request);
    });
  }
  memory::Limit limit = launch::training_limit(request.running.memory_bytes);
  together(group, [&] {
    launch::settle_recipe(*store, request);
    launch::check_for_ranks(request.recipe, group.place().size);
    if (group.leads_host()) launch::verify_if_asked(*store, request.running);
  });
  launch::choose_gpu(request.running.gpu);
  const plan::Plan plan = launch::plan_together(group, limit.bytes, [&] {
    return launch::plan_for(request, {*store, limit.bytes, gpu_facts(), &group});
  });
  std::optional<launch::SaveFolder> save_folder;
  together(group, [&] {
    if (!group.first()) return;
    save_folder.emplace(request.save_dir);
    if (request.force) save_folder->clear();
  });
  launch::say_opening(request, *store, limit);
  launch::say(request.running, "ranks", launch::describe_ranks(group));
  launch::say_plan(request.running, plan);
  const int signal_number = launch::run_training(request, *store, plan, &group);
  group.leave();
  return signal_number;
}

void train_as_rank(TrainRequest& request, const ranks::RankPlace& place) {
  const auto group = launch::join(request.running, place);
  const auto remedy = [&] {
    return launch::holds_a_run(request.save_dir)
               ? "continue with:\n  " + launch::continuing_command(request)
               : "nothing is saved yet: start again";
  };
  const int signal_number =
      launch::end_together(*group, remedy, [&] { return train_with(*group, request); });
  if (signal_number == 0) return;
  if (!group->speaks()) throw ExitWith{exit_code(ErrorKind::stopped)};
  launch::fail_stopped(request, signal_number);
}

// --ranks: starts the ranks, after what can be refused once for all of them. A recipe to continue
// with is in a checkpoint, which only the ranks can read.
void start_ranks(TrainRequest& request, const ranks::RankPlace& place) {
  const graph::Store store = launch::open_for_training(request);
  if (request.resume.empty()) {
    launch::settle_recipe(store, request);
    launch::check_for_ranks(request.recipe, place.size);
  }
  launch::launch_ranks("train", place.size);
}

void train_seeds(const TrainOptions& options) {
  launch::train_seeds(options, options.seeds);
  if (options.running.run.quiet) return screen::print_training_mean(options.save_dir);
  print("\n");
  screen::print_training(options.save_dir);
}

void train(const CLI::App& command, TrainOptions& options) {
  complete(command, options);
  watch_also(SIGUSR1);
  launch::check_gpu(options.running.gpu);
  if (options.seeds > 0) return train_seeds(options);
  const ranks::RankPlace place = ranks::find_place(Host::real().variable, options.running.ranks);
  switch (place.source) {
    case ranks::RankSource::none:
      return train_alone(options);
    case ranks::RankSource::option:
      return start_ranks(options, place);
    case ranks::RankSource::torchrun:
    case ranks::RankSource::slurm:
    case ranks::RankSource::launcher:
      return train_as_rank(options, place);
  }
}

constexpr const char* kTrainFooter =
    R"(After SIGINT, SIGTERM, SIGHUP or SIGUSR1, train finishes the batch, writes last.pth and exits with
code 9. A resumed run has the same results as one that was never stopped.

The spellings of PyTorch scripts are accepted as well: --data_root, --hidden_dim, --batch_size,
--weight_decay, --num_neighbors 15 10, --num_workers, --log_steps, --save_dir.

Several processes can train together: --ranks N starts them here; under torchrun and srun each
process finds its place by itself. N ranks learn what one process learns:
docs/reference/training.md.

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
  command->footer(kTrainFooter);
  command->callback([command, options] { train(*command, *options); });
}

}  // namespace plimsoll::cli
