// Evaluation with all neighbours goes layer by layer, so that no node's value is computed twice.
// This finds the nodes whose values each layer must compute for the next layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "batch/seeds.h"
#include "memory/index_set.h"
#include "memory/ledger.h"
#include "sample/topology.h"

namespace plimsoll::batch {

constexpr uint64_t kFullBatchNodes = 2048;  // seeds of one batch with all neighbours

// One set for each of `layers` layers, the first layer first. The last set has the asked nodes and
// their in-neighbours; each other set has the nodes of the next set and their in-neighbours.
std::vector<memory::IndexSet> needed_nodes(std::span<const Seeds> asked, size_t layers,
                                           const sample::Topology& topology,
                                           memory::Ledger& ledger);

// The memory of the sets, and what needed_nodes() takes in addition while it runs.
uint64_t node_sets_bytes(uint64_t nodes, size_t layers);
uint64_t marking_bytes(uint64_t edges, bool reads_disk);

}  // namespace plimsoll::batch
