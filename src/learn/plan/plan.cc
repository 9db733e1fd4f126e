#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "plan/arrange.h"
#include "plan/footprint.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

double share(uint64_t part, uint64_t all) {
  return all == 0 ? 1 : static_cast<double>(part) / static_cast<double>(all);
}

std::string adjacency_note(const Question& question, const Plan& plan) {
  if (question.recipe.model == recipe::ModelKind::mlp) return "none: mlp ignores the edges";
  return fmt::format("resident {:.0f} % of the files, {:.0f} % of visits",
                     100 * plan.adjacency_resident, 100 * plan.reads.adjacency_hits);
}

std::string of_ranks(const Question& question) {
  return question.host_ranks == 1 ? "" : fmt::format("{} ranks: ", question.host_ranks);
}

std::string windows_note(const Plan& plan) {
  const Arrangement& arrangement = plan.arrangement;
  if (arrangement.window <= 1) return "none";
  const uint64_t passes = (plan.batches + arrangement.window - 1) / arrangement.window;
  return fmt::format("{}, rows of {}, {} an epoch", counted(arrangement.window, "batch"),
                     format_bytes(arrangement.window_bytes), passes);
}

// While an evaluation with all neighbours runs, training holds no batches. If everything is
// resident, it may take more memory than they did; if files are read from disk, the lines go down
// instead.
uint64_t evaluation_extra_bytes(const Question& question, const Layout& layout,
                                uint64_t spare_bytes) {
  const uint64_t bytes =
      question.host_ranks * full_evaluation_bytes(question.work(), layout.arrangement);
  const uint64_t instead =
      layout.taken.batches_bytes + layout.taken.workers_bytes + layout.taken.windows_bytes;
  return std::min(spare_bytes, bytes > instead ? bytes - instead : 0);
}

void list_parts(const Question& question, const Layout& layout, uint64_t usable_bytes, Plan& plan) {
  const Lines& lines = plan.arrangement.lines;
  const Taken& taken = layout.taken;
  plan.parts = {
      {"adjacency", lines.offsets_bytes + lines.neighbors_bytes, adjacency_note(question, plan)},
      {"features", lines.features_bytes,
       fmt::format("resident {:.0f} % of the rows, {:.0f} % of visits",
                   100 * plan.features_resident, 100 * plan.reads.rows_hits)},
      {"batches", taken.batches_bytes + taken.workers_bytes,
       fmt::format("{}{} in flight × {}, {} {}", of_ranks(question), taken.in_flight,
                   format_bytes(taken.batches_bytes / taken.in_flight / question.host_ranks),
                   plan.arrangement.workers, plan.arrangement.workers == 1 ? "worker" : "workers")},
      {"windows", taken.windows_bytes, windows_note(plan)},
      {"model", taken.model_bytes,
       of_ranks(question) + "parameters, gradients, optimizer, activations"},
      {"runtime", taken.runtime_bytes,
       of_ranks(question) +
           (question.loading ? "the program itself, ids, labels" : "libtorch, splits")}};
  plan.peak_bytes = 0;
  for (const MemoryPart& part : plan.parts) plan.peak_bytes += part.bytes;
  const uint64_t spare = plan.reads_disk() ? 0 : usable_bytes - plan.peak_bytes;
  const uint64_t extra = evaluation_extra_bytes(question, layout, spare);
  if (extra == 0) return;
  plan.parts.push_back({"evaluation", extra, "all neighbours, as far as there is room"});
  plan.peak_bytes += extra;
}

}  // namespace

uint64_t headroom_bytes(uint64_t limit_bytes) {
  return std::max(kLeastHeadroomBytes,
                  static_cast<uint64_t>(kHeadroomShare * static_cast<double>(limit_bytes)));
}

uint64_t ledger_bytes(const Plan& plan) {
  const uint64_t usable = plan.limit_bytes - headroom_bytes(plan.limit_bytes);
  const uint64_t lines = std::min(usable, line_bytes(plan.arrangement.lines));
  return lines + (usable - lines) / plan.host_ranks;
}

uint64_t minimum_bytes(const Question& question) {
  const uint64_t needed = std::min(least_layout(question, true).taken.all_bytes(),
                                   resident_bytes(question, least_layout(question, false)));
  const auto with_share =
      static_cast<uint64_t>(static_cast<double>(needed) / (1 - kHeadroomShare)) + 1;
  return std::max(needed + kLeastHeadroomBytes, with_share);
}

namespace {

std::string gpu_windows_note(const GpuLayout& on_gpu) {
  if (on_gpu.cold_rows <= 0) return "none";
  return fmt::format("rows of {}, about {:.0f} batches each", format_bytes(on_gpu.window_bytes),
                     on_gpu.window_batches);
}

// The plan of a training whose batches the GPU makes. The host only has the part of the store that
// the GPU's memory does not hold. An evaluation with all neighbours still makes its batches on the
// CPU, which takes memory as in other trainings.
void plan_drawing_gpu(const Question& question, uint64_t usable_bytes, Plan& plan) {
  const GpuLayout& on_gpu = plan.on_gpu;
  const bool full = evaluates_in_full(question.work());
  const uint64_t left = usable_bytes - on_gpu.host_bytes();
  const Layout layout =
      full ? choose_layout(question, left) : least_layout(question, /*reads_disk=*/true);
  plan.arrangement = layout.arrangement;
  if (!full) plan.arrangement.lines = {0, 0, 0};
  plan.parts = {{"store", on_gpu.far_bytes, "rows and lists that the GPU reads in this memory"},
                {"windows", on_gpu.windows_host_bytes, gpu_windows_note(on_gpu)},
                {"loading", gpu::ResidentStore::kLoadingBytes, "until the store is loaded"}};
  if (!full) {
    plan.parts.push_back({"evaluation", on_gpu.evaluation_bytes, "nodes and labels of a pass"});
  } else {
    const Lines& lines = plan.arrangement.lines;
    plan.parts.push_back({"evaluation",
                          line_bytes(lines) + layout.taken.batches_bytes +
                              layout.taken.workers_bytes + layout.taken.windows_bytes,
                          "with all neighbours: batches are made on the CPU"});
    plan.full_batch_bytes = least_full_batch_bytes(question.work(), plan.arrangement, true);
  }
  plan.parts.push_back({"runtime", layout.taken.runtime_bytes, "libtorch, CUDA, splits"});
  plan.peak_bytes = 0;
  for (const MemoryPart& part : plan.parts) plan.peak_bytes += part.bytes;
  plan.needed_bytes = plan.peak_bytes;
  plan.seconds_an_epoch = predict_gpu_time(question, on_gpu);
  if (on_gpu.cold_rows <= 0) return;
  Arrangement read = plan.arrangement;
  read.lines = {question.store.offsets_bytes(), question.store.neighbors_bytes(),
                on_gpu.lines.features_end_bytes};
  plan.features_resident = share(read.lines.features_bytes, question.store.features_bytes());
  plan.reads = predict_reads(question.work(), read.lines);
  plan.disk = window_work(question, read, std::max(1.0, on_gpu.window_batches));
  const double disk = plan.disk.seconds(plan.arrangement.price);
  if (plan.seconds_an_epoch == 0 || question.machine.reads_per_second <= 0) {
    plan.seconds_an_epoch = 0;  // one of the two was not measured
    return;
  }
  plan.seconds_an_epoch = std::max(plan.seconds_an_epoch, static_cast<double>(plan.batches) * disk);
}

// What the host has for a part of the store, if the GPU makes the batches.
uint64_t host_room(const Question& question, uint64_t usable_bytes) {
  const bool full = evaluates_in_full(question.work());
  const Layout least = least_layout(question, /*reads_disk=*/true);
  const uint64_t other = full ? least.taken.all_bytes() : least.taken.runtime_bytes;
  return usable_bytes - std::min(usable_bytes, other);
}

uint64_t usable_within(uint64_t limit_bytes) {
  return limit_bytes - std::min(limit_bytes, headroom_bytes(limit_bytes));
}

GpuLayout drawing_layout(const Question& question, uint64_t limit_bytes) {
  return choose_gpu_layout(question, host_room(question, usable_within(limit_bytes)));
}

// The least limit under which the GPU makes the batches, to a few megabytes; the question's own is
// enough.
uint64_t least_drawing_limit(const Question& question) {
  constexpr uint64_t kExact = 4 * kMiB;
  uint64_t too_low = 0;
  uint64_t enough = question.limit_bytes;
  while (enough - too_low > kExact) {
    const uint64_t middle = too_low + (enough - too_low) / 2;
    (drawing_layout(question, middle).draws ? enough : too_low) = middle;
  }
  return enough;
}

}  // namespace

Plan make_plan(const Question& question) {
  const StoreShape& store = question.store;
  Plan plan{.limit_bytes = question.limit_bytes,
            .minimum_bytes = minimum_bytes(question),
            .runtime_bytes = question.runtime_bytes,
            .host_ranks = question.host_ranks,
            .batches = question.batches(),
            .gpu = question.gpu,
            .other_load = question.machine.was_busy() ? question.machine.other_load : 0,
            .pyg_bytes = pyg_bytes(store)};
  plan.fits = plan.limit_bytes >= plan.minimum_bytes;
  const uint64_t limit_bytes = std::max(plan.limit_bytes, plan.minimum_bytes);
  const uint64_t usable_bytes = limit_bytes - headroom_bytes(limit_bytes);
  if (question.gpu) {
    plan.on_gpu = drawing_layout(question, question.limit_bytes);
    if (plan.on_gpu.draws) {
      plan.fits = true;
      plan.minimum_bytes = std::min(plan.minimum_bytes, least_drawing_limit(question));
      plan_drawing_gpu(question, usable_within(question.limit_bytes), plan);
      return plan;
    }
  }
  const Layout layout = choose_layout(question, usable_bytes);
  plan.arrangement = layout.arrangement;
  const Lines& lines = plan.arrangement.lines;
  plan.adjacency_resident = share(lines.offsets_bytes + lines.neighbors_bytes,
                                  store.offsets_bytes() + store.neighbors_bytes());
  plan.features_resident = share(lines.features_bytes, store.features_bytes());
  plan.reads = predict_reads(question.work(), lines);
  plan.disk = disk_work(question, plan.arrangement, plan.reads);
  plan.seconds_an_epoch = predict_time(question, plan.arrangement, plan.reads);
  plan.needed_bytes = layout.taken.all_bytes();
  plan.full_batch_bytes =
      least_full_batch_bytes(question.work(), plan.arrangement, plan.reads_disk());
  list_parts(question, layout, usable_bytes, plan);
  return plan;
}

namespace {

constexpr uint32_t kLargestNumber = 32;  // the first fan-out to try instead of all neighbours
constexpr uint64_t kLeastHidden = 16;

// One option to lower: its values, from large to small, and the questions with these values.
struct Lever {
  std::vector<std::string> options;
  std::vector<Question> questions;

  void add(std::string option, Question question) {
    options.push_back(std::move(option));
    questions.push_back(std::move(question));
  }
};

Lever batch_sizes(const Question& question, const Draws& draws) {
  Lever lever;
  for (uint64_t size = question.probe.batch.seeds; size > 1;) {
    size = (size + 1) / 2;
    Question smaller = question;
    smaller.recipe.batch_size = size * question.ranks;
    smaller.probe = expect_batch(draws, question.store, size);
    std::string option = fmt::format("--batch-size {}", smaller.recipe.batch_size);
    lever.add(std::move(option), std::move(smaller));
  }
  return lever;
}

Lever fanouts(const Question& question, const std::vector<FanoutDraws>& smaller) {
  Lever lever;
  if (question.recipe.model == recipe::ModelKind::mlp) return lever;
  for (const FanoutDraws& one : smaller) {
    Question asked = question;
    asked.recipe.fanout = one.fanout;
    asked.probe =
        expect_batch(one.draws, question.store, question.own_seeds(question.recipe.batch_size));
    lever.add(fmt::format("--fanout {}", recipe::format_fanout(one.fanout)), std::move(asked));
  }
  return lever;
}

Lever hidden(const Question& question) {
  Lever lever;
  const bool gat = question.recipe.model == recipe::ModelKind::gat;
  const uint64_t step = gat ? question.recipe.heads : 1;  // must be a multiple of the heads
  for (uint64_t columns = question.recipe.hidden / 2 / step * step;
       columns >= std::max(kLeastHidden, step); columns = columns / 2 / step * step) {
    Question smaller = question;
    smaller.recipe.hidden = columns;
    lever.add(fmt::format("--hidden {}", columns), std::move(smaller));
  }
  return lever;
}

Lever workers(const Question& question) {
  Lever lever;
  for (unsigned count = question.workers; count > 1;) {
    count /= 2;
    Question fewer = question;
    fewer.workers = count;
    lever.add(fmt::format("--workers {}", count), std::move(fewer));
  }
  return lever;
}

std::optional<Remedy> remedy_of(const Lever& lever, const Question& question) {
  std::optional<Remedy> found;
  uint64_t least = minimum_bytes(question);
  for (size_t i = 0; i < lever.questions.size(); ++i) {
    const uint64_t minimum = minimum_bytes(lever.questions[i]);
    if (minimum >= least) continue;
    least = minimum;
    found = {lever.options[i], minimum, minimum <= question.limit_bytes};
    if (found->enough) break;
  }
  return found;
}

}  // namespace

std::vector<std::vector<uint32_t>> smaller_fanouts(const std::vector<uint32_t>& fanout) {
  std::vector<std::vector<uint32_t>> all;
  std::vector<uint32_t> next = fanout;
  while (std::any_of(next.begin(), next.end(), [](uint32_t count) { return count > 1; })) {
    for (uint32_t& count : next) {
      count = count > 2 * kLargestNumber ? kLargestNumber : (count + 1) / 2;
    }
    all.push_back(next);
  }
  return all;
}

std::vector<Remedy> find_remedies(const Question& question, const Draws& draws,
                                  const std::vector<FanoutDraws>& smaller) {
  std::vector<Remedy> remedies;
  Question least = question;
  std::string options;
  const Draws* least_draws = &draws;
  for (const Lever& lever : {batch_sizes(question, draws), fanouts(question, smaller),
                             hidden(question), workers(question)}) {
    const auto remedy = remedy_of(lever, question);
    if (!remedy) continue;
    remedies.push_back(*remedy);
    if (remedy->enough) continue;
    const Question& smallest = lever.questions.back();
    least.recipe.hidden = std::min(least.recipe.hidden, smallest.recipe.hidden);
    least.recipe.batch_size = std::min(least.recipe.batch_size, smallest.recipe.batch_size);
    least.workers = std::min(least.workers, smallest.workers);
    if (smallest.recipe.fanout != question.recipe.fanout) {
      least.recipe.fanout = smallest.recipe.fanout;
      least_draws = &smaller.back().draws;
    }
    options += (options.empty() ? "" : " ") + lever.options.back();
  }
  const bool some_enough = std::any_of(remedies.begin(), remedies.end(),
                                       [](const Remedy& remedy) { return remedy.enough; });
  if (some_enough || remedies.size() < 2) return remedies;
  least.probe =
      expect_batch(*least_draws, question.store, least.own_seeds(least.recipe.batch_size));
  const uint64_t minimum = minimum_bytes(least);
  remedies.push_back({options, minimum, minimum <= question.limit_bytes});
  return remedies;
}

// ---- the fastest setting for a limit ----

namespace {

constexpr uint64_t kAround = 4;  // from a quarter of the default to four times as much
constexpr double kAsFast = 0.98;
constexpr double kWorthIt = 0.95;  // change a setting only for at most 95 % of its time

bool faster(const Plan& plan, const Plan& than) {
  if (plan.fits != than.fits) return plan.fits;
  return plan.seconds_an_epoch < than.seconds_an_epoch;
}

bool worth_a_change(const Plan& plan, const Plan& from) {
  if (plan.fits != from.fits) return plan.fits;
  return plan.seconds_an_epoch < kWorthIt * from.seconds_an_epoch;
}

std::vector<unsigned> workers_to_try(const Question& question, const Freedom& freedom) {
  std::vector<unsigned> counts = {question.workers};
  if (!freedom.workers) return counts;
  for (unsigned count = 1; count < question.threads + 2; count *= 2) counts.push_back(count);
  counts.push_back(question.threads + 2);
  return counts;
}

// The first setting that is about as fast as the fastest.
Setting fastest_workers(Question asked, const std::vector<unsigned>& counts) {
  std::vector<Setting> settings;
  for (const unsigned workers : counts) {
    asked.workers = workers;
    settings.push_back({asked.recipe.batch_size, workers, make_plan(asked)});
  }
  const auto best =
      std::min_element(settings.begin(), settings.end(),
                       [](const Setting& a, const Setting& b) { return faster(a.plan, b.plan); });
  return *std::find_if(settings.begin(), settings.end(), [&](const Setting& setting) {
    return setting.plan.fits == best->plan.fits &&
           kAsFast * setting.plan.seconds_an_epoch <= best->plan.seconds_an_epoch;
  });
}

}  // namespace

std::vector<uint64_t> usual_batch_sizes(const Question& question) {
  const uint64_t usual = recipe::Recipe().batch_size;
  std::vector<uint64_t> sizes;
  for (uint64_t size = usual / kAround; size <= usual * kAround; size *= 2) {
    // Batches that already hold all training nodes do not become larger.
    if (sizes.empty() || size / 2 < question.store.train_nodes) sizes.push_back(size);
  }
  return sizes;
}

Fastest find_fastest(const Question& question, const Draws& draws, const Freedom& freedom) {
  const Setting own = {question.recipe.batch_size, question.workers, make_plan(question)};
  Fastest fastest{.best = own};
  std::vector<uint64_t> sizes = freedom.batch_sizes;
  if (sizes.empty()) sizes = {question.recipe.batch_size};
  for (const uint64_t size : sizes) {
    Question asked = question;
    asked.recipe.batch_size = size;
    asked.probe = expect_batch(draws, question.store, question.own_seeds(size));
    const Setting best_of_size = fastest_workers(asked, workers_to_try(question, freedom));
    if (!best_of_size.plan.fits) continue;
    fastest.others.push_back(best_of_size);
    if (faster(best_of_size.plan, fastest.best.plan)) fastest.best = best_of_size;
  }
  if (!worth_a_change(fastest.best.plan, own.plan)) fastest.best = own;
  return fastest;
}

}  // namespace plimsoll::plan
