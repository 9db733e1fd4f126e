#include "ingest/build_plan.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "ingest/spill.h"

namespace plimsoll::ingest {
namespace {

constexpr uint64_t kBucketTargetBytes = 8 * kMiB;  // can be sorted in a core's share of the cache
constexpr uint64_t kLeastChunkBytes = 64 * kKiB;
constexpr uint64_t kMostChunkBytes = 256 * kKiB;  // large enough for the disk's full speed
constexpr uint64_t kLeastWorkspaceBytes = kMiB;
constexpr uint64_t kBytesPerThread = 3 * kMiB;  // blocks of edges, lists or rows in transit

uint64_t least_chunk_bytes(uint64_t record_bytes) {
  return std::max(kLeastChunkBytes, io::round_up_to_block(record_bytes));
}

}  // namespace

BuildShape build_shape(const Shape& source, graph::Direction direction, graph::FeatureType type,
                       bool rows_on_demand) {
  return {.nodes = source.nodes,
          .most_edges = source.edges * (direction == graph::Direction::undirected ? 2 : 1),
          .row_bytes = graph::padded_row_bytes(type, source.feature_columns),
          .rows_on_demand = rows_on_demand};
}

uint64_t least_memory_bytes(const BuildShape& shape) {
  const uint64_t arrays = shape.nodes * kBytesPerNode;
  // Permuting rows needs memory for one chunk per bucket, and later for one whole bucket. Fewer
  // buckets are larger buckets, so the need is lowest near the square root of the product. Sorting
  // keys has no such bound, because a bucket that is too large is distributed again.
  const uint64_t chunk = least_chunk_bytes(shape.row_bytes + sizeof(uint32_t));
  const double rows = static_cast<double>(shape.rows_on_demand ? 0 : shape.nodes) *
                      static_cast<double>(shape.row_bytes + sizeof(uint32_t));
  const auto permuting = static_cast<uint64_t>(std::sqrt(8 * rows * static_cast<double>(chunk)));
  const uint64_t positions = shape.nodes * sizeof(uint32_t);
  return shape.source_bytes + kRuntimeBytes +
         std::max(arrays + kLeastWorkingBytes,
                  positions + kLeastWorkingBytes + permuting + 16 * chunk);
}

unsigned affordable_threads(unsigned threads, const BuildShape& shape, uint64_t limit_bytes) {
  const uint64_t working =
      limit_bytes - shape.source_bytes - kRuntimeBytes - shape.nodes * kBytesPerNode;
  return static_cast<unsigned>(std::clamp<uint64_t>(working / kBytesPerThread, 1, threads));
}

DiskNeed disk_need(const BuildShape& shape, bool release_early) {
  const uint64_t keys = shape.most_edges * 8;
  const uint64_t lists = shape.most_edges * 4;
  const uint64_t features = shape.nodes * shape.row_bytes;
  const uint64_t rows = shape.rows_on_demand ? 0 : features + shape.nodes * 4;
  const uint64_t small_files = shape.nodes * (8 + 4 + 4 + 4 + 4) + kMiB;
  // Chunks are written whole: covers the unused ends of the buckets' last chunks, and blocks in
  // transit.
  const uint64_t slack = (keys + rows) / 50 + 64 * kMiB;

  DiskNeed need;
  need.store_bytes = small_files + lists + features;
  // Sorting turns keys into lists, renumbering turns lists into keys; both release what they have
  // read.
  const uint64_t sorting = release_early ? keys : keys + lists;
  need.temp_bytes = std::max(sorting, rows) + slack;
  const uint64_t while_sorting = small_files + (release_early ? keys : keys + lists * 2);
  const uint64_t while_permuting =
      small_files + lists + (release_early ? std::max(rows, features) : rows + features);
  need.together_bytes = std::max(while_sorting, while_permuting) + slack;
  return need;
}

Distribution plan_distribution(const DistributionNeed& need) {
  const uint64_t least_chunk = least_chunk_bytes(need.record_bytes);
  const uint64_t staging = need.memory_bytes / 3;
  Distribution plan;
  plan.buckets = std::clamp<uint64_t>(need.total_bytes / kBucketTargetBytes, 1,
                                      std::max<uint64_t>(1, staging / least_chunk));
  const uint64_t chunk_share = staging / plan.buckets / io::kBlockBytes * io::kBlockBytes;
  plan.chunk_bytes = std::max(least_chunk, std::min(chunk_share, kMostChunkBytes));

  const uint64_t left =
      need.memory_bytes - std::min(need.memory_bytes, plan.buckets * plan.chunk_bytes);
  const uint64_t per_thread = kBytesPerThread + KeyScatter::bytes_needed(plan.buckets);
  // After the staging memory is released: a workspace and a chunk per thread, and enough to
  // distribute one oversized bucket again, a few levels deep.
  const uint64_t expected = 2 * (need.total_bytes / plan.buckets) + kLeastWorkspaceBytes;
  const uint64_t for_workspaces =
      need.memory_bytes - std::min(need.memory_bytes / 3, 3 * kResortBytes);
  plan.threads = static_cast<unsigned>(std::clamp<uint64_t>(
      std::min(left / per_thread, for_workspaces / (expected + plan.chunk_bytes)), 1,
      need.threads));
  const uint64_t share = for_workspaces / plan.threads;
  // `expected` is twice a bucket, because a sort needs scratch memory; buckets are rarely three
  // times the average.
  plan.workspace_bytes = std::max(
      kLeastWorkspaceBytes, std::min(3 * expected, share - std::min(share, plan.chunk_bytes)));
  return plan;
}

}  // namespace plimsoll::ingest
