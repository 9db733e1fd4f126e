#include "plan/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/units.h"
#include "plan/activation.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kFullBatch = 2048;         // nodes, as in train/inference.cc
constexpr uint64_t kPlacesAtOnce = 1 << 18;   // while nodes are marked, there too
constexpr uint64_t kRowsBlock = 4 * kMiB;     // as in train/hidden_rows.cc
constexpr uint64_t kMarkingBytes = 2 * kMiB;  // to read lists, and of what they say

bool is_full(const Work& work) {
  return work.recipe.evaluation == recipe::Evaluation::full &&
         work.recipe.model != recipe::ModelKind::mlp && !work.recipe.fanout.empty() &&
         work.store.nodes > 0;
}

// The longest list, as far as the marks tell: hubs are hot and stand alone between two of them.
uint64_t longest_list(const StoreShape& store) {
  uint64_t longest = 0;
  for (size_t i = 0; i + 1 < store.marks.size(); ++i) {
    const uint64_t nodes = store.marks[i + 1].node - store.marks[i].node;
    const uint64_t edges = store.marks[i + 1].edges - store.marks[i].edges;
    longest = std::max(longest, nodes == 1 ? edges : 2 * edges / nodes);
  }
  return longest;
}

// Edges of the lists before this node.
double edges_before(const StoreShape& store, uint64_t node) {
  const auto after =
      std::upper_bound(store.marks.begin(), store.marks.end(), node,
                       [](uint64_t value, const Mark& mark) { return value < mark.node; });
  if (after == store.marks.end()) return static_cast<double>(store.edges);
  const Mark& from = *std::prev(after);
  const double part =
      static_cast<double>(node - from.node) / static_cast<double>(after->node - from.node);
  return static_cast<double>(from.edges) + part * static_cast<double>(after->edges - from.edges);
}

// How many different nodes that many edges lead to, if they lead where those of the draws do.
double reached_by(double edges, const Work& work) {
  const std::vector<double>& visited = work.probe.visited;
  const double all = std::accumulate(visited.begin(), visited.end(), 0.0);
  double reached = 0;
  for (size_t i = 0; all > 0 && i < visited.size(); ++i) {
    const auto nodes = static_cast<double>(work.store.marks[i + 1].node - work.store.marks[i].node);
    reached += nodes * (1 - std::exp(-edges * visited[i] / all / nodes));
  }
  return reached;
}

// The batch that begins at this node: nodes come in order, so the first have the hubs.
BatchSize batch_from(uint64_t node, const Work& work) {
  const StoreShape& store = work.store;
  const uint64_t seeds = std::min(kFullBatch, store.nodes - node);
  const double edges = edges_before(store, node + seeds) - edges_before(store, node);
  return {.seeds = seeds,
          .nodes = std::min(store.nodes, seeds + static_cast<uint64_t>(reached_by(edges, work))),
          .hops = {{seeds, static_cast<uint64_t>(edges)}}};
}

// Rows that are there at once: what the layer before made, and what is in the making. The last
// layer needs those of all neighbours of the nodes asked for, the one before it those of their
// neighbours.
double rows_at_once(const Work& work) {
  const StoreShape& store = work.store;
  const double degree = static_cast<double>(store.edges) / static_cast<double>(store.nodes);
  auto nodes = static_cast<double>(std::max(store.train_nodes, store.evaluated_nodes));
  double last = 0;
  double before = 0;
  for (size_t hop = 1; hop < work.recipe.fanout.size(); ++hop) {
    nodes = std::min(static_cast<double>(store.nodes), nodes + reached_by(nodes * degree, work));
    last = std::exchange(before, nodes);
  }
  return before + last;
}

}  // namespace

uint64_t full_evaluation_bytes(const Work& work, const Arrangement& arrangement) {
  if (!is_full(work)) return 0;
  recipe::Recipe one_layer = work.recipe;
  one_layer.fanout = {recipe::kAllNeighbors};
  const unsigned in_flight = arrangement.workers * arrangement.window + arrangement.ahead + 1;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < in_flight && i * kFullBatch < work.store.nodes; ++i) {
    Probe probe;
    probe.largest = batch_from(i * kFullBatch, work);
    const Work batch = {work.store, one_layer, probe};
    bytes += slot_bytes(batch, /*reads_disk=*/false);
    if (i < arrangement.workers) bytes += worker_bytes(batch, arrangement, /*reads_disk=*/false);
  }
  const auto rows = static_cast<uint64_t>(rows_at_once(work));
  return bytes + rows * work.recipe.hidden * sizeof(float);
}

uint64_t least_full_evaluation_bytes(const Work& work, const Arrangement& arrangement,
                                     bool reads_disk) {
  if (!is_full(work)) return 0;
  recipe::Recipe one_layer = work.recipe;
  one_layer.fanout = {recipe::kAllNeighbors};
  StoreShape store = work.store;
  store.columns = std::max(store.columns, work.recipe.hidden);
  store.classes = std::max(store.classes, work.recipe.hidden);
  const uint64_t list = longest_list(store);
  Probe probe;
  probe.largest = {.seeds = 1, .nodes = list + 1, .hops = {{1, list}}};
  const Work one = {store, one_layer, probe};
  const uint64_t computing = kRowsBlock + slot_bytes(one, reads_disk) +
                             worker_bytes(one, arrangement, reads_disk) + activation_bytes(one);
  // Places and neighbours, and where they are read, what is wanted of the disk.
  const uint64_t places = std::min(kPlacesAtOnce, store.edges);
  const uint64_t marking = kMarkingBytes + 8 * kPlacesAtOnce + (reads_disk ? 4 + 20 : 4) * places;
  return std::max(computing, marking);
}

}  // namespace plimsoll::plan
