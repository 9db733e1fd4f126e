#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "plan/evaluation.h"
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

// While an evaluation with all neighbours runs, the batches of the training are not there. It takes
// more than those where there is room; where there are lines, they go down for it instead.
uint64_t evaluation_extra_bytes(const Question& question, const Layout& layout,
                                uint64_t spare_bytes) {
  const uint64_t bytes = full_evaluation_bytes(question.work(), layout.arrangement);
  const uint64_t instead = layout.taken.batches_bytes + layout.taken.workers_bytes;
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
       fmt::format("{} in flight × {}, {} {}", taken.in_flight,
                   format_bytes(taken.batches_bytes / taken.in_flight), plan.arrangement.workers,
                   plan.arrangement.workers == 1 ? "worker" : "workers")},
      {"model", taken.model_bytes, "parameters, gradients, optimizer, activations"},
      {"runtime", taken.runtime_bytes, "libtorch, splits"}};
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

uint64_t minimum_bytes(const Question& question) {
  const uint64_t needed = std::min(least_layout(question, true).taken.all_bytes(),
                                   resident_bytes(question, least_layout(question, false)));
  const auto with_share =
      static_cast<uint64_t>(static_cast<double>(needed) / (1 - kHeadroomShare)) + 1;
  return std::max(needed + kLeastHeadroomBytes, with_share);
}

Plan make_plan(const Question& question) {
  const StoreShape& store = question.store;
  Plan plan{.limit_bytes = question.limit_bytes,
            .minimum_bytes = minimum_bytes(question),
            .runtime_bytes = question.runtime_bytes,
            .batches = question.batches(),
            .gpu = question.gpu,
            .other_load = question.machine.was_busy() ? question.machine.other_load : 0,
            .pyg_bytes = pyg_bytes(store)};
  plan.fits = plan.limit_bytes >= plan.minimum_bytes;
  const uint64_t limit_bytes = std::max(plan.limit_bytes, plan.minimum_bytes);
  const uint64_t usable_bytes = limit_bytes - headroom_bytes(limit_bytes);
  const Layout layout = choose_layout(question, usable_bytes);
  plan.arrangement = layout.arrangement;
  const Lines& lines = plan.arrangement.lines;
  plan.adjacency_resident = share(lines.offsets_bytes + lines.neighbors_bytes,
                                  store.offsets_bytes() + store.neighbors_bytes());
  plan.features_resident = share(lines.features_bytes, store.features_bytes());
  plan.reads = predict_reads(question.work(), lines);
  plan.seconds_an_epoch = predict_time(question, plan.arrangement, plan.reads);
  plan.needed_bytes = layout.taken.all_bytes();
  plan.full_batch_bytes =
      least_full_batch_bytes(question.work(), plan.arrangement, plan.reads_disk());
  list_parts(question, layout, usable_bytes, plan);
  return plan;
}

}  // namespace plimsoll::plan
