#include "plan/footprint.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/units.h"
#include "batch/assemble.h"
#include "batch/gather.h"
#include "batch/layerwise.h"
#include "batch/pipeline.h"
#include "batch/window.h"
#include "sample/sampler.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

batch::Assembly assembly_of(const Work& work) {
  batch::Assembly assembly = batch::assembly_for(work.recipe, work.store.first_layer);
  assembly.gradients = true;
  return assembly;
}

// The largest sampled batch of an evaluation; null if training has larger ones, or if evaluations
// take all neighbours.
const BatchSize* evaluated_batch(const Work& work) {
  return work.probe.evaluated && !evaluates_in_full(work) ? &*work.probe.evaluated : nullptr;
}

const BatchSize& largest_of_all(const Work& work) {
  const BatchSize* const evaluated = evaluated_batch(work);
  return evaluated != nullptr ? *evaluated : work.probe.largest;
}

// The neighbours that LABOR reads for the last hop. Long lists are met more often than short ones,
// so the average list is longer than the average degree.
uint64_t looked_at(const Work& work) {
  constexpr uint64_t kLongLists = 4;
  if (work.store.nodes == 0) return 0;
  const uint64_t degree = work.store.edges / work.store.nodes + 1;
  return largest_of_all(work).expanded() * degree * kLongLists;
}

sample::SamplerOptions sampling_of(const Work& work) {
  return {.fanout = batch::drawn_fanout(work.recipe, work.store.first_layer),
          .all_degrees = assembly_of(work).needs_all_degrees(),
          .draw = work.recipe.sampler};
}

}  // namespace

nn::Dimensions dimensions(const Work& work) {
  const recipe::Recipe& recipe = work.recipe;
  return {.kind = recipe.model,
          .inputs = work.store.columns,
          .hidden = recipe.hidden,
          .classes = work.store.classes,
          .layers = recipe.fanout.size(),
          .heads = recipe.model == ModelKind::gat ? recipe.heads : 1,
          .batch_norm = recipe.batch_norm};
}

uint64_t slot_bytes(const Work& work, bool reads_disk) {
  batch::Assembly assembly = assembly_of(work);
  // Precomputed rows hold the sums, followed by the own row.
  const bool halves = assembly.precomputed && assembly.input == batch::Input::aggregated_and_own;
  const uint64_t columns = work.store.columns * (halves ? 2 : 1);
  const auto needed = [&](const BatchSize& batch) {
    return batch::Assembler::bytes_needed(batch, assembly, columns, reads_disk);
  };
  const uint64_t training = needed(work.probe.largest);
  const BatchSize* const evaluated = evaluated_batch(work);
  if (evaluated == nullptr) return training;
  assembly.gradients = false;
  return std::max(training, needed(*evaluated));
}

uint64_t worker_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk) {
  const BatchSize& batch = largest_of_all(work);
  const uint64_t bytes =
      batch::Pipeline::worker_bytes_needed(batch.seeds) +
      sample::Sampler::bytes_needed(sampling_of(work), batch, looked_at(work), reads_disk);
  if (!reads_disk) return bytes;
  return bytes +
         batch::Gatherer::bytes_needed(batch.nodes, work.store.row_bytes, arrangement.area_bytes);
}

uint64_t windows_bytes(const Work& work, const Arrangement& arrangement) {
  if (arrangement.window <= 1) return 0;
  const sample::SamplerOptions sampling = sampling_of(work);
  const BatchSize& batch = largest_of_all(work);
  const batch::WindowMaker::Options options = {.sampling = sampling,
                                               .window = {.batches = arrangement.window,
                                                          .bytes = arrangement.window_bytes,
                                                          .threads = arrangement.drawing}};
  const uint64_t window =
      batch::Window::bytes_needed(work.store.nodes) + arrangement.window_bytes +
      arrangement.window * sample::Neighborhood::bytes_needed(batch, sampling.all_degrees);
  return batch::kWindows * window +
         arrangement.window * sample::Draft::bytes_needed(sampling, batch) +
         sample::JointSampler::bytes_needed(batch::WindowMaker::sampler_options(options), batch,
                                            work.store.nodes, work.store.edges);
}

uint64_t activation_bytes(const Work& work) {
  const uint64_t training = nn::activation_bytes(dimensions(work), work.probe.largest);
  const BatchSize* const evaluated = evaluated_batch(work);
  if (evaluated == nullptr) return training;
  return std::max(training, nn::inference_bytes(dimensions(work), *evaluated));
}

uint64_t model_bytes(const Work& work) { return nn::model_bytes(dimensions(work)); }

uint64_t parameter_bytes(const Work& work) { return nn::parameter_bytes(dimensions(work)); }

bool evaluates_in_full(const Work& work) {
  return work.recipe.evaluation == recipe::Evaluation::full &&
         work.recipe.model != ModelKind::mlp && !work.recipe.fanout.empty() && work.store.nodes > 0;
}

uint64_t node_sets_bytes(const Work& work) {
  if (!evaluates_in_full(work)) return 0;
  return batch::node_sets_bytes(work.store.nodes, work.recipe.fanout.size() - 1);
}

// Features as fp32, labels and both ends of every edge as int64, and Python with its libraries.
uint64_t pyg_loaded_bytes(const StoreShape& store) {
  return kGiB + store.nodes * (store.columns * 4 + 8) + store.edges * 16;
}

// Then the loader sorts the edges and takes another 54 bytes per edge (measured).
uint64_t pyg_bytes(const StoreShape& store) { return pyg_loaded_bytes(store) + store.edges * 54; }

namespace {

using batch::kFullBatchNodes;

// An estimate of the longest list from the marks: hubs are hot, and among the hottest nodes each
// has its own mark.
uint64_t longest_list(const StoreShape& store) {
  uint64_t longest = 0;
  for (size_t i = 0; i + 1 < store.marks.size(); ++i) {
    const uint64_t nodes = store.marks[i + 1].node - store.marks[i].node;
    const uint64_t edges = store.marks[i + 1].edges - store.marks[i].edges;
    longest = std::max(longest, nodes == 1 ? edges : 2 * edges / nodes);
  }
  return longest;
}

// How many edges the lists before this node have.
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

// How many distinct nodes that many edges lead to, if they are distributed like the sampled ones.
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

// The batch that begins at this node. Nodes come in hot-first order, so the first batches have the
// hubs.
BatchSize batch_from(uint64_t node, const Work& work) {
  const StoreShape& store = work.store;
  const uint64_t seeds = std::min(kFullBatchNodes, store.nodes - node);
  const double edges = edges_before(store, node + seeds) - edges_before(store, node);
  return {.seeds = seeds,
          .nodes = std::min(store.nodes, seeds + static_cast<uint64_t>(reached_by(edges, work))),
          .hops = {{seeds, static_cast<uint64_t>(edges)}}};
}

// How many rows exist at the same time: the output of the previous layer, and the output being
// computed. The last layer needs the rows of all neighbours of the evaluated nodes, the layer
// before it those of their neighbours.
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
  if (!evaluates_in_full(work)) return 0;
  recipe::Recipe one_layer = work.recipe;
  one_layer.fanout = {recipe::kAllNeighbors};
  const unsigned in_flight = arrangement.workers + arrangement.ahead + 1;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < in_flight && i * kFullBatchNodes < work.store.nodes; ++i) {
    Probe probe;
    probe.largest = batch_from(i * kFullBatchNodes, work);
    const Work batch = {work.store, one_layer, probe};
    bytes += slot_bytes(batch, /*reads_disk=*/false);
    if (i < arrangement.workers) bytes += worker_bytes(batch, arrangement, /*reads_disk=*/false);
  }
  const auto rows = static_cast<uint64_t>(rows_at_once(work));
  return bytes + rows * work.recipe.hidden * sizeof(float);
}

// For the node with the longest list, the layer that takes the most. The first layer reads
// features, the others read hidden rows.
uint64_t least_full_batch_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk) {
  if (!evaluates_in_full(work)) return 0;
  recipe::Recipe one_layer = work.recipe;
  one_layer.fanout = {recipe::kAllNeighbors};
  one_layer.norm = recipe::Norm::full;
  const uint64_t list = longest_list(work.store);
  Probe probe;
  probe.largest = {.seeds = 1, .nodes = list + 1, .hops = {{1, list}}};
  const nn::Dimensions model = dimensions(work);
  uint64_t most = 0;
  for (size_t layer = 0; layer < model.layers; ++layer) {
    StoreShape rows = work.store;
    if (layer > 0) {
      rows.columns = model.hidden;
      rows.row_bytes = graph::padded_row_bytes(graph::FeatureType::f32, model.hidden);
      rows.first_layer = graph::FirstLayer::none;
    }
    // Hidden rows may be in a file even if all features are resident.
    const bool reads = reads_disk || layer > 0;
    const Work one = {rows, one_layer, probe};
    most = std::max(most, slot_bytes(one, reads) + worker_bytes(one, arrangement, reads) +
                              nn::layer_bytes(model, layer, probe.largest));
  }
  return most;
}

uint64_t least_full_evaluation_bytes(const Work& work, const Arrangement& arrangement,
                                     bool reads_disk) {
  if (!evaluates_in_full(work)) return 0;
  return std::max(
      batch::HiddenRows::least_bytes() + least_full_batch_bytes(work, arrangement, reads_disk),
      batch::marking_bytes(work.store.edges, reads_disk));
}

}  // namespace plimsoll::plan
