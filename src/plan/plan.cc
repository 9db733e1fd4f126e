#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "plan/arrange.h"
#include "plan/evaluation.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

// Of what is beyond the least, this part goes to more batches under way, until there are enough;
// the rest to the lines. Both only grow with the limit.
constexpr uint64_t kBatchesPart = 4;

// What an arrangement needs, and all it would need with every line at the end.
struct Layout {
  Arrangement arrangement;
  Taken taken;
};

Layout lay_out(const Question& question, const Arrangement& arrangement, bool reads_disk) {
  return {arrangement, taken_bytes(question, arrangement, reads_disk)};
}

uint64_t needed_resident(const Question& question, const Layout& layout) {
  return layout.taken.all_bytes() + line_bytes(all_resident(question.work()));
}

Layout least(const Question& question, bool reads_disk) {
  return lay_out(question, arrangements(question, reads_disk).front(), reads_disk);
}

// The roomiest with which everything is resident.
std::optional<Layout> resident_layout(const Question& question, uint64_t usable_bytes) {
  std::optional<Layout> found;
  for (const Arrangement& arrangement : arrangements(question, /*reads_disk=*/false)) {
    const Layout layout = lay_out(question, arrangement, false);
    if (needed_resident(question, layout) <= usable_bytes) found = layout;
  }
  if (found) found->arrangement.lines = all_resident(question.work());
  return found;
}

// The least arrangement must fit.
Layout reading_layout(const Question& question, uint64_t usable_bytes) {
  std::vector<Layout> layouts;
  for (const Arrangement& arrangement : arrangements(question, /*reads_disk=*/true)) {
    layouts.push_back(lay_out(question, arrangement, true));
  }
  const uint64_t least_bytes = layouts.front().taken.all_bytes();
  const uint64_t most_bytes = layouts.back().taken.all_bytes();
  const uint64_t given_bytes =
      std::min(most_bytes, least_bytes + (usable_bytes - least_bytes) / kBatchesPart);
  Layout chosen = layouts.front();
  for (const Layout& layout : layouts) {
    if (layout.taken.all_bytes() <= given_bytes) chosen = layout;
  }
  chosen.arrangement.lines = LineChoice(question.work()).within(usable_bytes - given_bytes);
  return chosen;
}

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
  for (const Part& part : plan.parts) plan.peak_bytes += part.bytes;
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
  const uint64_t needed = std::min(least(question, true).taken.all_bytes(),
                                   needed_resident(question, least(question, false)));
  const auto with_share =
      static_cast<uint64_t>(static_cast<double>(needed) / (1 - kHeadroomShare)) + 1;
  return std::max(needed + kLeastHeadroomBytes, with_share);
}

Plan make_plan(const Question& question) {
  const StoreShape& store = question.store;
  Plan plan{.limit_bytes = question.limit_bytes,
            .minimum_bytes = minimum_bytes(question),
            .batches = question.batches(),
            .gpu_not_counted = question.gpu,
            .pyg_bytes = pyg_bytes(store)};
  plan.fits = plan.limit_bytes >= plan.minimum_bytes;
  const uint64_t limit_bytes = std::max(plan.limit_bytes, plan.minimum_bytes);
  const uint64_t usable_bytes = limit_bytes - headroom_bytes(limit_bytes);
  const std::optional<Layout> resident = resident_layout(question, usable_bytes);
  const Layout layout = resident ? *resident : reading_layout(question, usable_bytes);
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
