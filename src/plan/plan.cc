#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "base/units.h"
#include "io/lined_file.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kWindowNodes = 8192;  // of the batches that a worker makes at once
constexpr unsigned kMostWindow = 16;
constexpr uint64_t kSmallPart = 4;        // a quarter of the room
constexpr double kReadCpuSeconds = 3e-6;  // of a core, for one read

// The arrangements to choose from, the roomiest first.
std::vector<Arrangement> candidates(const Question& question, bool reads_disk) {
  const uint64_t nodes = std::max<uint64_t>(1, question.probe.batch.nodes);
  const auto window =
      static_cast<unsigned>(std::clamp<uint64_t>(kWindowNodes / nodes, 1, kMostWindow));
  const unsigned threads = question.threads;
  const unsigned half = std::max(1U, (threads + 1) / 2);
  const auto arrange = [&](unsigned workers, unsigned batches, unsigned ahead, uint64_t area) {
    const unsigned making = question.workers > 0 ? question.workers : workers;
    return Arrangement{.workers = making,
                       .computing = std::max(1U, threads - std::min(making, threads / 2)),
                       .window = batches,
                       .ahead = ahead,
                       .area_bytes = std::max<uint64_t>(area, 256 * kKiB)};
  };
  if (!reads_disk) return {arrange(half, 1, 1, 0), arrange(1, 1, 1, 0), arrange(1, 1, 0, 0)};
  // Rows of a window, if none of them were resident; fewer only mean more rounds.
  const uint64_t most = std::max<uint64_t>(512, question.store.row_bytes) * nodes;
  // Threads that wait for the disk use no core: more of them than cores keep it busy.
  return {arrange(threads + 2, window, 2, most * window / 2),
          arrange(threads + 1, std::max(1U, window / 2), 1, most / 2),
          arrange(threads, 1, 1, most / 4), arrange(1, 1, 1, most / 8), arrange(1, 1, 0, 0)};
}

struct Fixed {
  uint64_t batches = 0;
  uint64_t workers = 0;
  uint64_t model = 0;
  uint64_t tensors = 0;
  unsigned in_flight = 0;
};

Fixed fixed_bytes(const Question& question, const Arrangement& arrangement, bool reads_disk) {
  const Work work = {question.store, question.recipe, question.probe.batch};
  const unsigned in_flight = arrangement.workers * arrangement.window + arrangement.ahead + 1;
  return {.batches = in_flight * slot_bytes(work, reads_disk),
          .workers = arrangement.workers * worker_bytes(work, arrangement, reads_disk),
          .model = model_bytes(work),
          .tensors = activation_bytes(work),
          .in_flight = in_flight};
}

uint64_t sum(const Question& question, const Fixed& fixed) {
  return question.runtime_bytes + question.store.split_bytes() + fixed.batches + fixed.workers +
         fixed.model + fixed.tensors;
}

uint64_t all_lines(const StoreShape& store) {
  return store.offsets_bytes() + store.neighbors_bytes() + store.features_bytes();
}

// One of the three files: what a line at each mark costs and saves.
struct Ladder {
  std::vector<uint64_t> bytes;
  std::vector<double> visits;  // below the mark, of one batch
  size_t at = 0;               // how far its line has come

  struct Step {
    size_t to = 0;
    double visits_a_byte = -1;
  };
  // The stretch from here on that has the most visits a byte: a hot row may stand behind a cold
  // one.
  Step best_step() const {
    Step best;
    for (size_t to = at + 1; to < bytes.size(); ++to) {
      const auto cost = static_cast<double>(std::max<uint64_t>(1, bytes[to] - bytes[at]));
      const double gain = (visits[to] - visits[at]) / cost;
      if (gain > best.visits_a_byte) best = {to, gain};
    }
    return best;
  }
};

Ladder ladder(const StoreShape& store, const std::vector<uint32_t>& positions,
              const std::function<uint64_t(const Mark&)>& bytes_at) {
  Ladder ladder;
  for (const Mark& mark : store.marks) {
    ladder.bytes.push_back(bytes_at(mark));
    ladder.visits.push_back(Probe::share_below(positions, mark.node) *
                            static_cast<double>(positions.size()));
  }
  return ladder;
}

bool wants_all_degrees(const recipe::Recipe& recipe) {
  return recipe.model == recipe::ModelKind::gcn && recipe.norm == recipe::Norm::full;
}

// The lines that save the most reads for `room` bytes: stretches of the three files, the one with
// the most visits a byte first. Files are hot first, so each line grows from the top.
Lines place_lines(const Question& question, uint64_t room) {
  const StoreShape& store = question.store;
  const Probe& probe = question.probe;
  std::array<Ladder, 3> ladders = {
      ladder(store, wants_all_degrees(question.recipe) ? probe.visited : probe.expanded,
             [](const Mark& mark) { return (mark.node + 1) * sizeof(uint64_t); }),
      ladder(store, probe.expanded, [](const Mark& mark) { return mark.edges * sizeof(uint32_t); }),
      ladder(store, probe.visited, [&](const Mark& mark) { return mark.node * store.row_bytes; })};
  std::array<uint64_t, 3> lines = {};
  for (;;) {
    size_t best = ladders.size();
    Ladder::Step best_step;
    for (size_t i = 0; i < ladders.size(); ++i) {
      const Ladder::Step step = ladders[i].best_step();
      if (step.visits_a_byte > best_step.visits_a_byte) {
        best = i;
        best_step = step;
      }
    }
    if (best == ladders.size()) break;  // all files are resident
    Ladder& chosen = ladders[best];
    const uint64_t bytes = chosen.bytes[best_step.to] - lines[best];
    lines[best] += std::min(bytes, room);
    if (bytes > room) break;
    room -= bytes;
    chosen.at = best_step.to;
  }
  return {lines[0], lines[1], lines[2]};
}

uint64_t down_to_step(uint64_t bytes, uint64_t file_bytes) {
  if (bytes >= file_bytes) return file_bytes;
  return bytes / io::kLineStepBytes * io::kLineStepBytes;
}

// The node at which a line across the lists stands.
uint64_t node_at_edges(const StoreShape& store, uint64_t edges) {
  const auto after =
      std::upper_bound(store.marks.begin(), store.marks.end(), edges,
                       [](uint64_t value, const Mark& mark) { return value < mark.edges; });
  if (after == store.marks.begin()) return 0;
  const Mark& from = *std::prev(after);
  if (after == store.marks.end()) return from.node;
  const double part = static_cast<double>(edges - from.edges) /
                      static_cast<double>(std::max<uint64_t>(1, after->edges - from.edges));
  return from.node + static_cast<uint64_t>(part * static_cast<double>(after->node - from.node));
}

void predict_reads(const Question& question, Plan& plan) {
  const StoreShape& store = question.store;
  const Probe& probe = question.probe;
  const Lines& lines = plan.arrangement.lines;
  const BatchSize& batch = probe.batch;
  const bool all_degrees = wants_all_degrees(question.recipe);
  const auto nodes = static_cast<double>(batch.nodes);
  const auto expanded =
      batch.hops.empty() ? 0.0 : static_cast<double>(batch.hops.back().destinations);
  plan.offsets_hits = Probe::share_below(all_degrees ? probe.visited : probe.expanded,
                                         lines.offsets_bytes / sizeof(uint64_t));
  plan.lists_hits = Probe::share_below(
      probe.expanded, node_at_edges(store, lines.neighbors_bytes / sizeof(uint32_t)));
  plan.rows_hits = Probe::share_below(probe.visited, lines.features_bytes / store.row_bytes);
  plan.reads_a_batch = (1 - plan.offsets_hits) * (all_degrees ? nodes : expanded) +
                       (1 - plan.lists_hits) * expanded + (1 - plan.rows_hits) * nodes;
  if (question.recipe.model == recipe::ModelKind::mlp) {
    plan.reads_a_batch = (1 - plan.rows_hits) * nodes;
  }
}

double product_flops(const Question& question) {
  const BatchSize& batch = question.probe.batch;
  const recipe::Recipe& recipe = question.recipe;
  const size_t layers = recipe.fanout.size();
  double flops = 0;
  uint64_t in = question.store.columns;
  for (size_t layer = 0; layer < layers; ++layer) {
    const uint64_t out = layer + 1 == layers ? question.store.classes : recipe.hidden;
    const bool mlp = recipe.model == recipe::ModelKind::mlp;
    const uint64_t rows = mlp ? batch.seeds : batch.hops[layers - 1 - layer].destinations;
    const double one = 2.0 * static_cast<double>(rows) * static_cast<double>(in) *
                       static_cast<double>(out) * (recipe.model == recipe::ModelKind::sage ? 2 : 1);
    flops += one *
             (layer == 0 ? 2 : 3);  // forward, weights' gradient, and the input's but for the first
    in = out;
  }
  return flops;
}

// Disk and cores work side by side; what takes longer decides.
void predict_time(const Question& question, Plan& plan) {
  const Machine& machine = question.machine;
  if (machine.rows_per_second <= 0 || machine.flops_per_second <= 0) return;
  const BatchSize& batch = question.probe.batch;
  uint64_t edges = batch.seeds;
  for (const HopSize& hop : batch.hops) edges += hop.edges;
  const double row_share = static_cast<double>(question.store.row_bytes) / 256;
  const double gathering = static_cast<double>(edges) * (0.5 + row_share) / machine.rows_per_second;
  const double computing =
      product_flops(question) / machine.flops_per_second * static_cast<double>(machine.threads) +
      2e-4;  // torch's own cost of a batch's operations
  const double reading_cpu = plan.reads_a_batch * kReadCpuSeconds;
  const double cores = std::max(1U, question.threads);
  const double cpu = (gathering + computing + reading_cpu) / cores;
  const double disk =
      machine.reads_per_second > 0 ? plan.reads_a_batch / machine.reads_per_second : 0;
  plan.seconds_an_epoch = static_cast<double>(plan.batches) * std::max(cpu, disk);
}

std::string hits(uint64_t line, uint64_t file, const char* what, double share) {
  const double resident = file == 0 ? 1 : static_cast<double>(line) / static_cast<double>(file);
  return fmt::format("resident {:.0f} % of the {}, {:.0f} % of visits", 100 * resident, what,
                     100 * share);
}

void list_parts(const Question& question, const Fixed& fixed, Plan& plan) {
  const StoreShape& store = question.store;
  const Lines& lines = plan.arrangement.lines;
  const double adjacency_hits = std::min(plan.offsets_hits, plan.lists_hits);
  plan.parts = {
      {"adjacency", lines.offsets_bytes + lines.neighbors_bytes,
       hits(lines.offsets_bytes + lines.neighbors_bytes,
            store.offsets_bytes() + store.neighbors_bytes(), "files", adjacency_hits)},
      {"features", lines.features_bytes,
       hits(lines.features_bytes, store.features_bytes(), "rows", plan.rows_hits)},
      {"batches", fixed.batches + fixed.workers,
       fmt::format("{} in flight × {}, {} {}", fixed.in_flight,
                   format_bytes(fixed.batches / fixed.in_flight), plan.arrangement.workers,
                   plan.arrangement.workers == 1 ? "worker" : "workers")},
      {"model", fixed.model + fixed.tensors, "gradients, optimizer, activations"},
      {"runtime", question.runtime_bytes + store.split_bytes(), "libtorch, splits"}};
  plan.peak_bytes = 0;
  for (const Part& part : plan.parts) plan.peak_bytes += part.bytes;
}

}  // namespace

uint64_t headroom_bytes(uint64_t limit_bytes) {
  return std::max(kLeastHeadroomBytes,
                  static_cast<uint64_t>(kHeadroomShare * static_cast<double>(limit_bytes)));
}

Plan make_plan(const Question& question) {
  const StoreShape& store = question.store;
  Plan plan{.limit_bytes = question.limit_bytes,
            .batches = (store.train_nodes + question.recipe.batch_size - 1) /
                       std::max<uint64_t>(1, question.recipe.batch_size),
            .pyg_bytes = pyg_bytes(store)};
  const Arrangement least = candidates(question, /*reads_disk=*/true).back();
  const uint64_t needed = sum(question, fixed_bytes(question, least, true));
  plan.minimum_bytes =
      std::max(needed + kLeastHeadroomBytes,
               static_cast<uint64_t>(static_cast<double>(needed) / (1 - kHeadroomShare)));
  const uint64_t headroom = headroom_bytes(question.limit_bytes);
  if (question.limit_bytes < plan.minimum_bytes) return plan;
  const uint64_t usable = question.limit_bytes - headroom;
  plan.fits = true;
  // Everything resident, if it is possible at all.
  for (const Arrangement& arrangement : candidates(question, /*reads_disk=*/false)) {
    const Fixed fixed = fixed_bytes(question, arrangement, false);
    if (sum(question, fixed) + all_lines(store) > usable) continue;
    plan.arrangement = arrangement;
    plan.arrangement.lines = {store.offsets_bytes(), store.neighbors_bytes(),
                              store.features_bytes()};
    predict_time(question, plan);
    list_parts(question, fixed, plan);
    return plan;
  }
  // Else what reads least, without looking further once batches take little of the room.
  std::optional<Plan> best;
  std::optional<Fixed> best_fixed;
  for (const Arrangement& arrangement : candidates(question, /*reads_disk=*/true)) {
    const Fixed fixed = fixed_bytes(question, arrangement, true);
    const uint64_t taken = sum(question, fixed);
    if (taken > usable) continue;
    Plan candidate = plan;
    candidate.arrangement = arrangement;
    const Lines lines = place_lines(question, usable - taken);
    candidate.arrangement.lines = {down_to_step(lines.offsets_bytes, store.offsets_bytes()),
                                   down_to_step(lines.neighbors_bytes, store.neighbors_bytes()),
                                   down_to_step(lines.features_bytes, store.features_bytes())};
    predict_reads(question, candidate);
    if (!best || candidate.reads_a_batch < best->reads_a_batch) {
      best = candidate;
      best_fixed = fixed;
    }
    if (taken < usable / kSmallPart) break;
  }
  plan = *best;
  predict_time(question, plan);
  list_parts(question, *best_fixed, plan);
  return plan;
}

}  // namespace plimsoll::plan
