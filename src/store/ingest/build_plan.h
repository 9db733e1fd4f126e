// Arithmetic before an import starts: how the passes divide their memory, the least memory they
// need, and the disk space they take. Nothing is allocated or written here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/progress.h"
#include "graph/meta.h"
#include "ingest/input_graph.h"
#include "io/temp_file.h"
#include "memory/ledger.h"

namespace plimsoll::ingest {

// For the program, its libraries, thread stacks and stream buffers. Leased first, so that
// everything else fits into the rest of the limit.
constexpr uint64_t kRuntimeBytes = uint64_t{48} << 20;

// The least that buffers and workspaces need, in addition to the arrays with one entry per node.
constexpr uint64_t kLeastWorkingBytes = uint64_t{24} << 20;

// What finding the hot nodes, the pass with the most memory, keeps per node.
constexpr uint64_t kBytesPerNode = 21;

struct BuildShape {
  uint64_t nodes = 0;
  uint64_t most_edges = 0;  // with reverse edges, before duplicates are dropped
  uint64_t row_bytes = 0;
  bool rows_on_demand = false;  // the source makes rows in any order: no temporary copy is needed
  uint64_t source_bytes = 0;    // of memory that the source keeps (InputGraph::leased_bytes)
};
BuildShape build_shape(const Shape& source, graph::Direction direction, graph::FeatureType type,
                       bool rows_on_demand);

uint64_t least_memory_bytes(const BuildShape& shape);

// At most `threads`; fewer if the memory left beside the per-node arrays is too small for them.
// `limit_bytes` must be at least least_memory_bytes().
unsigned affordable_threads(unsigned threads, const BuildShape& shape, uint64_t limit_bytes);

struct DiskNeed {
  uint64_t store_bytes = 0;     // upper bound for the finished store
  uint64_t temp_bytes = 0;      // peak size of the temporary files
  uint64_t together_bytes = 0;  // peak if both share a disk: less than the sum of the two peaks
};
// `release_early`: temporary files release their space piece by piece (io::TempPlace).
DiskNeed disk_need(const BuildShape& shape, bool release_early);

// How one pass distributes `total_bytes` of records over buckets (ingest/spill.h) with
// `memory_bytes` of memory.
struct Distribution {
  size_t buckets = 1;
  uint64_t chunk_bytes = 0;
  uint64_t workspace_bytes = 0;  // per thread: for one bucket, when the buckets are read back
  unsigned threads = 1;
};
struct DistributionNeed {
  uint64_t total_bytes = 0;
  uint64_t record_bytes = 0;
  uint64_t memory_bytes = 0;
  unsigned threads = 1;
};
Distribution plan_distribution(const DistributionNeed& need);

// What every pass of an import needs: memory, progress display, temporary files, threads.
struct BuildContext {
  memory::Ledger& ledger;
  Progress& progress;
  io::TempPlace temp;
  unsigned threads = 1;
};

}  // namespace plimsoll::ingest
