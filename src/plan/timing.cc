// Making batches, reading and computing overlap, so the slowest of them decides: the workers, the
// disk, the threads that compute, or the cores that all of them share.
#include "plan/timing.h"

#include <algorithm>

namespace plimsoll::plan {
namespace {

constexpr double kReadCpuSeconds = 3e-6;  // of a core, for one read
constexpr double kBatchSeconds = 2e-4;    // torch's own cost of a batch's operations
constexpr double kDrawShare = 0.5;        // of an edge, beside gathering a row of 256 bytes
constexpr double kMeasuredRowBytes = 256;

// Of the products: forward, the weights' gradient, and the input's but for the first layer.
double product_flops(const Work& work) {
  const BatchSize& batch = work.probe.batch;
  const recipe::Recipe& recipe = work.recipe;
  const size_t layers = recipe.fanout.size();
  const bool mlp = recipe.model == recipe::ModelKind::mlp;
  double flops = 0;
  uint64_t in = work.store.columns;
  for (size_t layer = 0; layer < layers; ++layer) {
    const uint64_t out = layer + 1 == layers ? work.store.classes : recipe.hidden;
    const uint64_t rows = mlp ? batch.seeds : batch.hops[layers - 1 - layer].destinations;
    const double one = 2.0 * static_cast<double>(rows) * static_cast<double>(in) *
                       static_cast<double>(out) * (recipe.model == recipe::ModelKind::sage ? 2 : 1);
    flops += one * (layer == 0 ? 2 : 3);
    in = out;
  }
  return flops;
}

// Reads of a batch, on average over epochs: rows that are put aside come in one piece later.
double one_by_one(const Question& question, const Reads& reads) {
  return reads.lists + reads.rows / static_cast<double>(question.recipe.reuse_epochs);
}

double disk_seconds(const Question& question, const Reads& reads) {
  const Machine& machine = question.machine;
  if (machine.reads_per_second <= 0) return 0;
  const double by_count = one_by_one(question, reads) / machine.reads_per_second;
  const auto read_bytes = static_cast<double>(machine.read_bytes);
  const double row_bytes = std::max(read_bytes, static_cast<double>(question.store.row_bytes));
  const double bytes = reads.lists * read_bytes + reads.rows * row_bytes;
  const double by_bytes =
      machine.read_bytes_per_second > 0 ? bytes / machine.read_bytes_per_second : 0;
  return std::max(by_count, by_bytes);
}

}  // namespace

double predict_time(const Question& question, const Arrangement& arrangement, const Reads& reads) {
  const Machine& machine = question.machine;
  if (machine.rows_per_second <= 0 || machine.flops_per_second <= 0) return 0;
  const BatchSize& batch = question.probe.batch;
  uint64_t edges = batch.seeds;
  for (const HopSize& hop : batch.hops) edges += hop.edges;
  const double row_share = static_cast<double>(question.store.row_bytes) / kMeasuredRowBytes;
  // Seconds of one core each, and of the disk.
  const double making =
      static_cast<double>(edges) * (kDrawShare + row_share) / machine.rows_per_second +
      one_by_one(question, reads) * kReadCpuSeconds;
  const double computing = question.gpu
                               ? 0
                               : product_flops(question.work()) / machine.flops_per_second *
                                         static_cast<double>(machine.threads) +
                                     kBatchSeconds;
  const double disk = disk_seconds(question, reads);
  const double workers = arrangement.workers;
  const double cores = std::max(1U, question.threads);
  const double batch_seconds =
      std::max({(making + disk) / workers, disk, computing / arrangement.computing,
                (making + computing) / cores});
  return static_cast<double>(question.batches()) * batch_seconds;
}

}  // namespace plimsoll::plan
