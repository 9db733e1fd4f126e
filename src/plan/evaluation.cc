#include "plan/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace plimsoll::plan {
namespace {

constexpr uint64_t kFullBatch = 2048;  // nodes, as in train/inference.cc

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
  const size_t layers = work.recipe.fanout.size();
  const bool full = work.recipe.evaluation == recipe::Evaluation::full &&
                    work.recipe.model != recipe::ModelKind::mlp;
  if (!full || layers == 0 || work.store.nodes == 0) return 0;
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

}  // namespace plimsoll::plan
