#include "launch/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/print.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "gpu/emulation.h"
#include "gpu/network_shape.h"
#include "launch/train_module.h"
#include "launch/training_device.h"
#include "memory/limit.h"
#include "memory/usage.h"
#include "plan/describe.h"
#include "plan/machine_cache.h"
#include "train/footprint.h"

namespace plimsoll::launch {
namespace {

// About how long sampling for one fan-out may use the disk.
constexpr double kDrawSeconds = 0.4;
constexpr uint64_t kLeastReads = 1'000;
constexpr uint64_t kMostReads = 40'000;
constexpr uint64_t kRemedyPart = 8;  // a fan-out that might be a remedy gets 1/8 of the reads
// The memory for measuring the machine: 1/kLimitPart of the limit, but more than a CPU's caches.
constexpr uint64_t kMostMeasuringBytes = 896 * kMiB;
constexpr uint64_t kLeastMeasuringBytes = 16 * kMiB;
constexpr uint64_t kLimitPart = 4;
constexpr int kMeasuringSeconds = 6;           // what plan::calibrate() takes
constexpr uint64_t kProgramBytes = 12 * kMiB;  // resident before libtorch is loaded
constexpr uint64_t kRuntimeStepBytes = 32 * kMiB;
// For measuring steps, in addition to the runtime: a sum's input, its result, the one before it and
// their gradient, beside busy makers that take a quarter.
constexpr uint64_t kStepsBytes = 384 * kMiB;

// Builds of libtorch differ in size: takes more than usual if this one was measured to take more.
uint64_t runtime_bytes(bool gpu, uint64_t library_bytes) {
  const uint64_t usual = usual_runtime_bytes(gpu);
  const uint64_t loaded = kProgramBytes + library_bytes;
  if (loaded <= usual) return usual;
  // Rounded up to coarse steps, because the next process will not take exactly the same.
  return (loaded + train::kHeapBytes + kRuntimeStepBytes - 1) / kRuntimeStepBytes *
         kRuntimeStepBytes;
}

// From the cache of an earlier run, or measured now. Steps can only be measured if the training
// library exists and fits into memory.
plan::Machine measured_machine(const Planned& planned, const PlannerOptions& options) {
  const uint64_t room = std::min(options.limit_bytes, memory::automatic_limit().bytes);
  plan::MachineRequest wanted = {.file = planned.store.features_file(),
                                 .threads = options.run.threads,
                                 .device = options.device.name,
                                 .again = options.calibrate};
  if (planned.scale > 1) {
    // There is no large file to read yet. Use what is known about the disk of this folder.
    const auto known = plan::load_machine(plan::machine_cache_file(),
                                          plan::machine_key(".", wanted.threads, wanted.device));
    if (known && known->known() && !options.calibrate) return *known;
    wanted.file.clear();
  }
  const bool gpu = options.device.gpu;
  if (has_train_library() && room >= usual_runtime_bytes(gpu) + kStepsBytes) {
    wanted.measure_steps = [gpu](unsigned computing, memory::Ledger& ledger) {
      const uint64_t before = memory::process_usage().resident_bytes;
      const train::Module& module = load_train_module();
      if (gpu && !module.has_gpu()) return plan::StepRates();
      try {
        return module.measure_steps(gpu, computing, before, ledger);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::memory) throw;
        return plan::StepRates();  // times stay unknown; the training itself may still fit
      }
    };
  }
  if (!options.run.quiet && plan::must_measure(wanted)) {
    print_to(stderr, "measuring this machine, once: about {} s\n", kMeasuringSeconds);
  }
  const uint64_t least = wanted.measure_steps ? kStepsBytes : kLeastMeasuringBytes;
  memory::Ledger ledger(std::clamp(room / kLimitPart, least, kMostMeasuringBytes));
  return plan::known_machine(wanted, ledger);
}

}  // namespace

// A part of it stays free for the screen and other programs.
GpuShare gpu_share(const TrainingDevice& device, const std::optional<uint64_t>& asked_bytes) {
  if (!device.gpu) return {};
  if (asked_bytes) {
    if (device.emulated || device.memory_bytes == 0 || *asked_bytes <= device.memory_bytes) {
      return {*asked_bytes, ""};
    }
    return {device.memory_bytes,
            fmt::format("--gpu-memory {} is more than the GPU has; the limit is {}",
                        format_bytes(*asked_bytes), format_bytes(device.memory_bytes))};
  }
  const auto usual =
      static_cast<uint64_t>(plan::kMostGpuShare * static_cast<double>(device.memory_bytes));
  if (!device.free_bytes || *device.free_bytes >= usual) return {usual, ""};
  return {*device.free_bytes,
          fmt::format("other programs leave {} of the GPU's {} free; the limit is that much",
                      format_bytes(*device.free_bytes), format_bytes(device.memory_bytes))};
}

memory::Limit training_limit(const std::optional<uint64_t>& memory_bytes) {
  if (!memory_bytes) return memory::automatic_limit();
  return memory::choose_limit(memory_bytes, memory::detect_limit());
}

memory::Limit planned_limit(const std::optional<uint64_t>& memory_bytes) {
  if (!memory_bytes) return memory::automatic_limit();
  memory::Limit limit = memory::detect_limit();
  limit.bytes = *memory_bytes;
  limit.winner = "--memory";
  limit.source.reset();
  return limit;
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

Planner::Planner(Planned planned, const PlannerOptions& options)
    : planned_(std::move(planned)),
      options_(options),
      gpu_share_(gpu_share(options.device, options.run.gpu_memory_bytes)),
      ledger_(plan::kPlanningBytes),
      machine_(measured_machine(planned_, options)),
      shape_(planned_.shape ? *planned_.shape : plan::read_shape(planned_.store, ledger_)) {
  if (!gpu_share_.note.empty() && !options_.run.quiet) {
    print_to(stderr, "{}\n", gpu_share_.note);
  }
}

plan::DrawBudget Planner::draw_budget() const {
  const auto affordable = static_cast<uint64_t>(kDrawSeconds * machine_.reads_per_second);
  // The file of an estimate was just written, so it is cached.
  const bool cached = planned_.scale > 1;
  return plan::draw_budget(planned_.store,
                           cached ? kMostReads : std::clamp(affordable, kLeastReads, kMostReads));
}

plan::Draws Planner::draw(const recipe::Recipe& recipe, const plan::DrawBudget& budget) {
  plan::Draws draws = plan::draw(planned_.store, recipe, budget, ledger_);
  draws.scale = planned_.scale;
  return draws;
}

const plan::Draws& Planner::draws(const recipe::Recipe& recipe) {
  const std::pair key(recipe.fanout, shape_.train_nodes < recipe.batch_size);
  auto found = draws_.find(key);
  if (found == draws_.end()) {
    found = draws_.emplace(key, draw(recipe, draw_budget())).first;
  }
  return found->second;
}

// Asked before the run, so that the plan is one that the GPU can keep to.
const std::string& Planner::gpu_problem(const recipe::Recipe& recipe) {
  const bool drawable =
      options_.device.gpu && options_.ranks == 1 &&
      gpu::cannot_draw(recipe, planned_.store.meta().first_layer != graph::FirstLayer::none)
          .empty();
  static const std::string kNone;
  if (!drawable) return kNone;
  if (!gpu_problem_) {
    const uint64_t room = std::min(options_.limit_bytes, memory::automatic_limit().bytes);
    gpu_problem_.emplace();
    if (gpu::emulated()) {
      gpu_problem_ = gpu::emulated_problem();
    } else if (has_train_library() && room >= usual_runtime_bytes(/*gpu=*/true)) {
      const train::Module& module = load_train_module();
      if (module.has_gpu()) gpu_problem_ = module.gpu_problem(recipe);
    }
  }
  return *gpu_problem_;
}

plan::Question Planner::question(const recipe::Recipe& recipe, uint64_t limit_bytes) {
  const bool gpu = options_.device.gpu;
  plan::Question question = {
      .store = shape_,
      .recipe = recipe,
      .limit_bytes = limit_bytes,
      .runtime_bytes = runtime_bytes(gpu, machine_.step.library_bytes),
      .threads = options_.run.threads,
      .workers = options_.run.workers,
      .window = options_.run.window,
      .gpu = gpu,
      .gpu_memory_bytes = gpu_share_.bytes,
      .gpu_problem = gpu_problem(recipe),
      .ranks = options_.ranks,
      .host_ranks = options_.host_ranks,
      .machine = machine_,
      .epochs_bytes = train::series_bytes(recipe.epochs),
      .checkpoint_bytes = train::checkpoint_bytes(recipe.epochs, recipe.fanout.size())};
  question.probe = plan::expect_batch(draws(recipe), shape_, question.own_seeds(recipe.batch_size));
  // The disk serves all ranks of the host.
  for (double* const rate :
       {&question.machine.reads_per_second, &question.machine.most_reads_per_second,
        &question.machine.read_bytes_per_second}) {
    *rate /= options_.host_ranks;
  }
  return question;
}

std::vector<plan::Remedy> Planner::remedies(const plan::Question& question) {
  std::vector<plan::FanoutDraws> smaller;
  plan::DrawBudget budget = draw_budget();
  budget.reads /= kRemedyPart;
  if (question.recipe.model != recipe::ModelKind::mlp) {
    for (auto fanout : plan::smaller_fanouts(question.recipe.fanout)) {
      if (planned_.store.meta().first_layer != graph::FirstLayer::none) {
        fanout.back() = recipe::kAllNeighbors;
      }
      recipe::Recipe recipe = question.recipe;
      recipe.fanout = fanout;
      smaller.push_back({fanout, draw(recipe, budget)});
    }
  }
  return plan::find_remedies(question, draws(question.recipe), smaller);
}

std::string explain_shortage(const plan::Plan& plan, const plan::Question& question,
                             const std::vector<plan::Remedy>& remedies) {
  std::string lower = plan::describe(remedies);
  const bool helps = std::ranges::any_of(remedies, &plan::Remedy::enough);
  if (!lower.empty()) {
    lower = (helps ? ", or lower one of these:\n" : "; no smaller setting fits:\n") +
            lower.substr(0, lower.size() - 1);
  }
  return plan::describe_shortage(plan, question) + "; raise --memory" + lower;
}

void check_gpu_memory(const train::Execution& run, const plan::Plan& plan) {
  if (!run.gpu_memory_bytes || plan.on_gpu.draws) return;
  const std::string option = fmt::format("--gpu-memory {}", format_bytes(*run.gpu_memory_bytes));
  if (!plan.gpu) {
    fail(ErrorKind::usage, "{} needs a GPU; this training computes on the CPU", option);
  }
  if (plan.on_gpu.host_too_small) {
    fail(ErrorKind::memory, "{} cannot be kept in {} of RAM: {}; raise --memory, or leave it out",
         option, format_bytes(plan.limit_bytes), plan.on_gpu.instead);
  }
  if (plan.on_gpu.too_small) {
    fail(ErrorKind::memory, "{} is too little: {}; raise it or --memory, or leave it out", option,
         plan.on_gpu.instead);
  }
  fail(ErrorKind::usage,
       "{} is kept only where the GPU makes the batches, and here the CPU makes them ({}); leave "
       "it out",
       option, plan.on_gpu.instead);
}

plan::Plan plan_training(const graph::Store& store, const recipe::Recipe& recipe,
                         const PlannerOptions& options) {
  Planner planner({store}, options);
  const plan::Question question = planner.question(recipe, options.limit_bytes);
  plan::Plan plan = plan::make_plan(question);
  if (!plan.fits) {
    fail(ErrorKind::memory, "{}", explain_shortage(plan, question, planner.remedies(question)));
  }
  check_gpu_memory(options.run, plan);
  return plan;
}

plan::Plan plan_prediction(const graph::Store& store, const recipe::Recipe& recipe,
                           const PlannerOptions& options, uint64_t nodes, uint64_t output_bytes) {
  const uint64_t limit = options.limit_bytes;
  const uint64_t left = limit - std::min(limit, output_bytes);
  Planner planner({store}, options);
  planner.ask_for(nodes);
  plan::Plan plan = plan::make_plan(planner.question(recipe, left));
  if (!plan.fits) {
    fail(ErrorKind::memory,
         "the limit is {}, and this prediction needs {} at least: {} to sort its output, the rest "
         "for the model and its batches; raise --memory",
         format_bytes(limit), format_bytes_up(output_bytes + plan.minimum_bytes),
         format_bytes(output_bytes));
  }
  check_gpu_memory(options.run, plan);
  return plan;
}

train::Execution as_planned(train::Execution run, const plan::Plan& plan) {
  run.device = plan.gpu ? train::DeviceKind::cuda : train::DeviceKind::cpu;
  return run;
}

}  // namespace plimsoll::launch
