#include "plan/footprint.h"

#include <algorithm>

#include "base/units.h"
#include "batch/assemble.h"
#include "batch/first_layer.h"
#include "batch/gather.h"
#include "batch/needed_nodes.h"
#include "sample/sampler.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

batch::Assembly assembly_of(const Work& work) {
  batch::Assembly assembly = batch::assembly_for(work.recipe, work.store.first_layer);
  assembly.gradients = true;
  return assembly;
}

// Neighbours in the lists that LABOR looks at for the last hop. Long lists are met more often than
// others.
uint64_t looked_at(const Work& work) {
  constexpr uint64_t kLongLists = 4;
  if (work.store.nodes == 0) return 0;
  const uint64_t degree = work.store.edges / work.store.nodes + 1;
  return work.probe.largest.expanded() * degree * kLongLists;
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
  const batch::Assembly assembly = assembly_of(work);
  // Precomputed rows have the sums and the own row behind each other.
  const bool halves = assembly.precomputed && assembly.input == batch::Input::aggregated_and_own;
  return batch::Assembler::bytes_needed(work.probe.largest, assembly,
                                        work.store.columns * (halves ? 2 : 1), reads_disk);
}

uint64_t worker_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk) {
  const BatchSize& batch = work.probe.largest;
  const sample::SamplerOptions sampler = {
      .fanout = batch::drawn_fanout(work.recipe, work.store.first_layer),
      .all_degrees = assembly_of(work).needs_all_degrees(),
      .draw = work.recipe.sampler};
  const uint64_t bytes = sample::Sampler::bytes_needed(sampler, batch, looked_at(work), reads_disk);
  if (!reads_disk) return bytes;
  return bytes + batch::Gatherer::bytes_needed(batch.nodes * arrangement.window,
                                               work.store.row_bytes, arrangement.area_bytes,
                                               work.recipe.reuse_epochs > 1);
}

uint64_t activation_bytes(const Work& work) {
  return nn::activation_bytes(dimensions(work), work.probe.largest);
}

uint64_t model_bytes(const Work& work) { return nn::model_bytes(dimensions(work)); }

bool evaluates_in_full(const Work& work) {
  return work.recipe.evaluation == recipe::Evaluation::full &&
         work.recipe.model != ModelKind::mlp && !work.recipe.fanout.empty() && work.store.nodes > 0;
}

uint64_t node_sets_bytes(const Work& work) {
  if (!evaluates_in_full(work)) return 0;
  return batch::node_sets_bytes(work.store.nodes, work.recipe.fanout.size() - 1);
}

// Features as fp32, labels and two ends of every edge as int64, and Python with its libraries.
uint64_t pyg_loaded_bytes(const StoreShape& store) {
  return kGiB + store.nodes * (store.columns * 4 + 8) + store.edges * 16;
}

// Then the loader sorts the edges and holds 54 bytes more for each, as measured.
uint64_t pyg_bytes(const StoreShape& store) { return pyg_loaded_bytes(store) + store.edges * 54; }

}  // namespace plimsoll::plan
