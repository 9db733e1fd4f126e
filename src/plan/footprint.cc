#include "plan/footprint.h"

#include <algorithm>
#include <bit>

#include "base/units.h"
#include "batch/packed_rows.h"
#include "sample/sampler.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

// Arrays that are renewed ask for an eighth more than they need; those that grow in the middle of a
// batch end somewhere between just enough and half as much again.
uint64_t renewed(uint64_t bytes) { return bytes + bytes / 8; }
uint64_t grown(uint64_t bytes) { return bytes + bytes / 4; }

constexpr uint64_t kWord = 4;
constexpr uint64_t kMostPlaces = 1 << 18;      // drawn at once where lists are read, see sampler.cc
constexpr uint64_t kReadRoomBytes = 1 * kMiB;  // io::ReadOptions
constexpr uint64_t kPieceBytes = 24;
constexpr uint64_t kWantBytes = 16;

uint64_t sources(const BatchSize& batch, size_t hop) {
  return hop + 1 < batch.hops.size() ? batch.hops[hop + 1].destinations : batch.nodes;
}

// Rows that the first layer is given, and how many floats each.
uint64_t input_rows(const Work& work) {
  const bool all = work.recipe.model == ModelKind::gat || work.probe.largest.hops.empty();
  return all ? work.probe.largest.nodes : work.probe.largest.hops.back().destinations;
}

uint64_t columns_after(const Work& work, size_t layer) {
  return layer + 1 == work.recipe.fanout.size() ? work.store.classes : work.recipe.hidden;
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

uint64_t parameter_count(const Work& work) {
  uint64_t count = 0;
  uint64_t in = work.store.columns;
  for (size_t layer = 0; layer < work.recipe.fanout.size(); ++layer) {
    const uint64_t out = columns_after(work, layer);
    count += in * out * (work.recipe.model == ModelKind::sage ? 2 : 1) + out;
    if (work.recipe.model == ModelKind::gat) count += 2 * out;
    if (work.recipe.batch_norm) count += 4 * out;
    in = out;
  }
  return count;
}

uint64_t slot_bytes(const Work& work, bool reads_disk) {
  const BatchSize& batch = work.probe.largest;
  const ModelKind model = work.recipe.model;
  const bool gcn = model == ModelKind::gcn;
  const bool summed = gcn || model == ModelKind::sage;
  const bool all_degrees = gcn && work.recipe.norm == recipe::Norm::full;
  uint64_t bytes = grown(kWord * batch.nodes) + renewed(kWord * batch.seeds);
  if (!batch.hops.empty()) {
    bytes += grown(kWord * (all_degrees ? batch.nodes : batch.hops.back().destinations));
  }
  for (size_t hop = 0; hop < batch.hops.size(); ++hop) {
    const auto [destinations, edges] = batch.hops[hop];
    bytes += renewed(kWord * (destinations + 1)) + grown(kWord * edges);
    if (summed) bytes += renewed(kWord * destinations);
    if (gcn) bytes += renewed(kWord * (destinations + sources(batch, hop)));
    const bool has_block = !summed || hop + 1 < batch.hops.size();
    if (has_block) bytes += renewed(kWord * (sources(batch, hop) + 2 + 2 * edges));
  }
  bytes +=
      renewed(input_rows(work) * work.store.columns * kWord) * (model == ModelKind::sage ? 2 : 1);
  if (reads_disk) bytes += renewed(kWord * batch.nodes);
  return bytes;
}

uint64_t worker_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk) {
  const BatchSize& batch = work.probe.largest;
  uint64_t most_edges = 0;
  for (const HopSize& hop : batch.hops) most_edges = std::max(most_edges, hop.edges);
  const bool labor = work.recipe.sampler == recipe::Draw::labor;
  const uint64_t group = labor        ? std::min(kMostPlaces, looked_at(work))
                         : reads_disk ? std::min(kMostPlaces, most_edges)
                                      : 4096;
  uint64_t bytes =
      8 * std::bit_ceil(2 * (batch.nodes + group)) + grown(16 * batch.nodes) + grown(8 * group);
  if (labor) bytes += renewed(4 * group) + renewed(8 * sample::kMostLooked);
  if (!reads_disk) return bytes;
  const uint64_t area = arrangement.area_bytes;
  bytes += area + area / 512 * (kPieceBytes + kWord);
  bytes += renewed(kWantBytes * batch.nodes * arrangement.window);
  bytes += kReadRoomBytes + kReadRoomBytes / 512 * kPieceBytes + grown(kWantBytes * group);
  if (work.recipe.reuse_epochs > 1) bytes += batch::kPackingBytes;
  return bytes;
}

uint64_t model_bytes(const Work& work) {
  // Values, gradients, two figures of Adam; the best epoch's copy; what a checkpoint gathers.
  return parameter_count(work) * sizeof(float) * (4 + 3 + 3);
}

uint64_t evaluation_bytes(const Work& work) {
  const bool full = work.recipe.evaluation == recipe::Evaluation::full &&
                    work.recipe.model != ModelKind::mlp && !work.recipe.fanout.empty();
  if (!full) return 0;
  // For every layer but the last, a bit a node and a count for every 512 bits.
  const uint64_t set = work.store.nodes / 8 + work.store.nodes / 128 + 4 * kKiB;
  return (work.recipe.fanout.size() - 1) * set;
}

// Features as fp32, labels and two ends of every edge as int64, and Python with its libraries.
uint64_t pyg_loaded_bytes(const StoreShape& store) {
  return kGiB + store.nodes * (store.columns * 4 + 8) + store.edges * 16;
}

// Then the loader sorts the edges and holds 54 bytes more for each, as measured.
uint64_t pyg_bytes(const StoreShape& store) { return pyg_loaded_bytes(store) + store.edges * 54; }

}  // namespace plimsoll::plan
