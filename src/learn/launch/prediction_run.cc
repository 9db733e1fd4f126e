#include "launch/prediction_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/run_files.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "io/partial_file.h"
#include "launch/planning.h"
#include "launch/train_module.h"
#include "launch/training_device.h"
#include "memory/index_set.h"
#include "train/footprint.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;

// A new file takes the place of the old one, so an existing one must be a plain file.
void check_output(const char* option, const fs::path& file, bool force) {
  if (file.empty()) fail(ErrorKind::usage, "{} is empty; name a file", option);
  if (fs::exists(file) && !fs::is_directory(file) && !fs::is_regular_file(file)) {
    fail(ErrorKind::usage, "{} {} is not a regular file; name another one", option, file.string());
  }
  io::check_writable(option, file, force);
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (access(parent.c_str(), W_OK) != 0) {
    fail(ErrorKind::io, "cannot write {} {}: no permission to write in the folder {}", option,
         file.string(), parent.string());
  }
}

// The memory needed to sort the output: the rows, a bit for each id, and buffers of the files.
uint64_t output_bytes(const PredictRequest& request, const graph::Store& store,
                      const recipe::Recipe& recipe) {
  return formats::NpyRows::bytes_needed(
             train::output_options(request.output, request.out, count_nodes(request, store),
                                   {store.meta().classes, recipe.hidden})) +
         memory::IndexSet::bytes_needed(store.meta().nodes) + train::ids_bytes();
}

}  // namespace

void check_files(const PredictRequest& request) {
  if (!fs::exists(request.checkpoint)) {
    fail(ErrorKind::io, "there is no checkpoint {}; plimsoll train writes best.pth and last.pth",
         request.checkpoint.string());
  }
  if (fs::is_directory(request.checkpoint)) {
    fail(ErrorKind::usage, "--checkpoint {} is a folder; give a file in it, such as {}",
         request.checkpoint.string(), (request.checkpoint / kBestCheckpoint).string());
  }
  check_output("--out", request.out, request.force);
  if (request.ids_out.empty()) return;
  check_output("--ids", request.ids_out, request.force);
  if (fs::weakly_canonical(request.ids_out) == fs::weakly_canonical(request.out)) {
    fail(ErrorKind::usage, "--out and --ids both name {}; give two different files",
         request.out.string());
  }
}

uint64_t count_nodes(const PredictRequest& request, const graph::Store& store) {
  const graph::Meta& meta = store.meta();
  const uint64_t nodes = request.split == train::PredictedNodes::all
                             ? meta.nodes
                             : meta.split_sizes.at(static_cast<size_t>(request.split));
  if (nodes == 0) {
    fail(ErrorKind::input, "{} has no nodes in this split; choose another --split, or all",
         store.folder().string());
  }
  return nodes;
}

recipe::Recipe read_recipe(const PredictRequest& request, const graph::Store& store) {
  recipe::Recipe recipe = load_train_module().read_recipe(
      request.checkpoint, training_limit(request.running.memory_bytes).bytes);
  recipe.evaluation = request.evaluation.value_or(recipe.evaluation);
  batch::check_first_layer(store, recipe);
  return recipe;
}

void check_prediction_for_ranks(const recipe::Recipe& recipe, unsigned ranks) {
  const bool sampled = recipe.evaluation == recipe::Evaluation::sampled;
  if (sampled && recipe.model == recipe::ModelKind::gcn && recipe.norm == recipe::Norm::sampled) {
    fail(
        ErrorKind::usage,
        "a model of --norm sampled counts edges in a whole batch, and each of {} ranks sees only a "
        "part; use --eval full, or one process",
        ranks);
  }
  if (sampled && recipe.batch_size < ranks) {
    fail(ErrorKind::usage, "the model's batches have {} nodes, less than {} ranks; use fewer",
         recipe.batch_size, ranks);
  }
}

plan::Plan plan_for(const PredictRequest& request, const recipe::Recipe& recipe,
                    const PlanFor& what) {
  const train::Execution& run = request.running.run;
  PlannerOptions planning = {.run = run,
                             .device = settled_device(run.device, load_train_module().has_gpu(),
                                                      training_device(run.device, what.gpus)),
                             .limit_bytes = what.limit_bytes};
  uint64_t own_bytes = output_bytes(request, what.store, recipe);
  if (what.group != nullptr) {
    planning.ranks = what.group->place().size;
    planning.host_ranks = static_cast<unsigned>(what.group->host_ranks().size());
    own_bytes += planning.host_ranks * train::collecting_bytes();
  }
  return plan_prediction(what.store, recipe, planning, count_nodes(request, what.store), own_bytes);
}

uint64_t ledger_bytes_for(const PredictRequest& request, const graph::Store& store,
                          const recipe::Recipe& recipe, const plan::Plan& plan,
                          const ranks::Group& group) {
  return plan::ledger_bytes(plan) + train::collecting_bytes() +
         (group.first() ? output_bytes(request, store, recipe) : 0);
}

void say_opening(const PredictRequest& request, const graph::Store& store,
                 const memory::Limit& limit) {
  const RunningOptions& running = request.running;
  say(running, "store", describe(store));
  say(running, "model", request.checkpoint.string());
  say(running, "nodes",
      fmt::format("{}, {}", format_count(count_nodes(request, store)), name(request.split)));
  say(running, "memory", describe(limit));
}

void run_prediction(const PredictRequest& request, const PredictionRun& run) {
  load_train_module().predict({.store = run.store,
                               .checkpoint = request.checkpoint,
                               .split = request.split,
                               .output = request.output,
                               .evaluation = run.evaluation,
                               .out = request.out,
                               .ids_out = request.ids_out,
                               .run = as_planned(request.running.run, run.plan),
                               .plan = run.plan,
                               .ledger = run.ledger,
                               .group = run.group});
}

}  // namespace plimsoll::launch
