// Pure arithmetic before an import starts: how the passes divide the memory they are given, the
// least memory they work in, and the disk space they take. Nothing is allocated or written here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/meta.h"
#include "ingest/input_graph.h"

namespace plimsoll::ingest {

// Program, libraries, thread stacks and stream buffers; leased first, so that everything else fits
// under the limit beside them.
constexpr uint64_t kRuntimeBytes = uint64_t{48} << 20;

// Beside the arrays of one entry a node: the least that buffers and workspaces do with.
constexpr uint64_t kLeastWorkingBytes = uint64_t{24} << 20;

// What the widest pass (finding the hot nodes) keeps for every node.
constexpr uint64_t kBytesPerNode = 21;

struct BuildShape {
  uint64_t nodes = 0;
  uint64_t most_edges = 0;  // after reverse edges, before duplicates go
  uint64_t row_bytes = 0;
  bool rows_on_demand = false;  // the source makes rows in any order: none are put aside
};
BuildShape build_shape(const Shape& source, graph::Direction direction, graph::FeatureType type,
                       bool rows_on_demand);

uint64_t least_memory_bytes(const BuildShape& shape);

// No more threads than the working memory beside the arrays of one entry a node can feed; the limit
// is at least least_memory_bytes().
unsigned affordable_threads(unsigned threads, uint64_t nodes, uint64_t limit_bytes);

struct DiskNeed {
  uint64_t store_bytes = 0;     // the finished store, at most
  uint64_t temp_bytes = 0;      // the temporary files at their largest
  uint64_t together_bytes = 0;  // both on one disk: less than the sum, as no pass needs all
};
// `release_early`: temporary files give their space back piece by piece (io::TempPlace).
DiskNeed disk_need(const BuildShape& shape, bool release_early);

// One distribution of `total_bytes` of records over buckets, in `memory_bytes`.
struct Distribution {
  size_t buckets = 1;
  uint64_t chunk_bytes = 0;
  uint64_t workspace_bytes = 0;  // for one bucket, in every thread, after the distribution
  unsigned threads = 1;
};
struct DistributionNeed {
  uint64_t total_bytes = 0;
  uint64_t record_bytes = 0;
  uint64_t memory_bytes = 0;
  unsigned threads = 1;
};
Distribution plan_distribution(const DistributionNeed& need);

}  // namespace plimsoll::ingest
