#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "plan/footprint.h"
#include "plan/layout.h"
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

std::vector<MemoryPart> gpu_parts(const GpuLayout& gpu) {
  const std::string parts = gpu.parts > 1 ? fmt::format(", each in {} parts", gpu.parts) : "";
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  return {{"adjacency", gpu.adjacency_bytes,
           percent(gpu.adjacency_near) + " of visits; the others read the host's memory"},
          {"features", gpu.features_bytes, percent(gpu.features_near) + " of visits"},
          {"batches", gpu.batches_bytes, "one at a time" + parts},
          {"windows", gpu.windows_bytes, "where rows from disk are"},
          {"model", gpu.model_bytes, "parameters, gradients, optimizer"},
          {"runtime", gpu.runtime_bytes, "CUDA, torch, cuBLAS"}};
}

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

}  // namespace plimsoll::plan
