#include "cli/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "batch/first_layer.h"
#include "memory/automatic_limit.h"
#include "plan/describe.h"
#include "plan/machine_cache.h"

namespace plimsoll::cli {
namespace {

// The most that planning itself may hold, whatever the limit: a limit that is too small should be
// answered, not met.
constexpr uint64_t kPlanningBytes = 256 * kMiB;
// What the draws of a fan-out may take of the disk's time, within reason.
constexpr double kDrawSeconds = 0.4;
constexpr double kLeastReads = 1'000;
constexpr double kMostReads = 40'000;
constexpr uint64_t kRemedyPart = 8;  // of that, for a fan-out that might be a remedy

}  // namespace

memory::Limit training_limit(const RunningOptions& options) {
  if (!options.memory_bytes) return memory::automatic_limit();
  return memory::choose_limit(options.memory_bytes, memory::detect_limit());
}

void check_trainable(const graph::Store& store, const recipe::Recipe& recipe) {
  const graph::Meta& meta = store.meta();
  const std::string folder = store.folder().string();
  if (meta.classes == 0) {
    fail(ErrorKind::input, "{} has no labels, so there is nothing to learn; import it with labels",
         folder);
  }
  if (meta.classes == 1) {
    fail(ErrorKind::input, "{} has a single class, so there is nothing to learn", folder);
  }
  if (meta.feature_columns == 0) {
    fail(ErrorKind::input, "{} has no features; import it with at least one column", folder);
  }
  if (meta.split_sizes[0] == 0) {
    fail(ErrorKind::input, "{} has no training nodes; import it with a train split", folder);
  }
  batch::check_first_layer(store, recipe);
  if (recipe.patience > 0 && meta.split_sizes[1] == 0) {
    fail(ErrorKind::input, "--patience {} needs validation nodes, and {} has none", recipe.patience,
         folder);
  }
}

Planner::Planner(const graph::Store& store, const train::RunOptions& run, bool calibrate)
    : store_(store),
      run_(run),
      ledger_(kPlanningBytes),
      machine_(plan::known_machine(store.features_file(), run.threads, calibrate, ledger_)),
      shape_(plan::read_shape(store, ledger_)) {}

uint64_t Planner::affordable_reads() const {
  return static_cast<uint64_t>(
      std::clamp(kDrawSeconds * machine_.reads_per_second, kLeastReads, kMostReads));
}

const plan::Draws& Planner::draws(const recipe::Recipe& recipe) {
  auto found = draws_.find(recipe.fanout);
  if (found == draws_.end()) {
    found = draws_.emplace(recipe.fanout, plan::draw(store_, recipe, affordable_reads(), ledger_))
                .first;
  }
  return found->second;
}

plan::Question Planner::question(const recipe::Recipe& recipe, uint64_t limit_bytes) {
  // Whether a GPU will be used is known once libtorch is loaded; a driver's file is the best guess.
  const bool gpu =
      run_.device == train::DeviceKind::cuda ||
      (run_.device == train::DeviceKind::automatic && std::filesystem::exists("/dev/nvidiactl"));
  return {.store = shape_,
          .recipe = recipe,
          .probe = plan::expect_batch(draws(recipe), shape_, recipe.batch_size),
          .limit_bytes = limit_bytes,
          .runtime_bytes = gpu ? train::kGpuRuntimeBytes : train::kRuntimeBytes,
          .threads = run_.threads,
          .workers = run_.workers,
          .window = run_.look_ahead,
          .gpu = gpu,
          .machine = machine_};
}

std::vector<plan::Remedy> Planner::remedies(const plan::Question& question) {
  std::vector<plan::FanoutDraws> smaller;
  if (question.recipe.model != recipe::ModelKind::mlp) {
    for (auto fanout : plan::smaller_fanouts(question.recipe.fanout)) {
      if (store_.meta().first_layer != graph::FirstLayer::none) {
        fanout.back() = recipe::kAllNeighbors;
      }
      recipe::Recipe recipe = question.recipe;
      recipe.fanout = fanout;
      smaller.push_back(
          {fanout, plan::draw(store_, recipe, affordable_reads() / kRemedyPart, ledger_)});
    }
  }
  return plan::find_remedies(question, draws(question.recipe), smaller);
}

std::string explain_shortage(const plan::Plan& plan, const plan::Question& question,
                             const std::vector<plan::Remedy>& remedies) {
  std::string lower = plan::describe(remedies);
  if (!lower.empty()) lower = ", or lower one of these:\n" + lower.substr(0, lower.size() - 1);
  return plan::describe_shortage(plan, question) + "; raise --memory" + lower;
}

plan::Plan plan_training(const graph::Store& store, const recipe::Recipe& recipe,
                         const train::RunOptions& run, uint64_t limit_bytes) {
  Planner planner(store, run);
  const plan::Question question = planner.question(recipe, limit_bytes);
  plan::Plan plan = plan::make_plan(question);
  if (!plan.fits) {
    fail(ErrorKind::memory, "{}", explain_shortage(plan, question, planner.remedies(question)));
  }
  return plan;
}

plan::Plan plan_prediction(const graph::Store& store, const recipe::Recipe& recipe,
                           const train::RunOptions& run, const PredictionRoom& room) {
  const uint64_t left = room.limit_bytes - std::min(room.limit_bytes, room.output_bytes);
  plan::Plan plan = plan::make_plan(Planner(store, run).question(recipe, left));
  if (!plan.fits) {
    fail(ErrorKind::memory,
         "the limit is {}, and this prediction needs {} at least: {} to put its output in order, "
         "the "
         "rest for the model and its batches; raise --memory",
         format_bytes(room.limit_bytes), format_bytes_up(room.output_bytes + plan.minimum_bytes),
         format_bytes(room.output_bytes));
  }
  return plan;
}

void say_plan(const RunningOptions& options, const plan::Plan& plan) {
  if (options.run.quiet) return;
  fmt::print("{}", plan::describe(plan));
  std::fflush(stdout);
}

}  // namespace plimsoll::cli
