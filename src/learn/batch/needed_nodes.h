// Evaluating with all neighbours goes layer by layer, so that no node's value is computed twice.
// This finds whose values each layer must have for the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "batch/seeds.h"
#include "feature/node_set.h"
#include "memory/ledger.h"
#include "sample/topology.h"

namespace plimsoll::batch {

constexpr uint64_t kFullBatchNodes = 2048;  // of one batch with all neighbours

// For `layers` layers, the first one first: the last of these has the asked nodes and their
// in-neighbours, each other those of the next and theirs.
std::vector<feature::NodeSet> needed_nodes(std::span<const Seeds> asked, size_t layers,
                                           const sample::Topology& topology,
                                           memory::Ledger& ledger);

// What the sets take, and what it takes beside them while it looks for the nodes.
uint64_t node_sets_bytes(uint64_t nodes, size_t layers);
uint64_t marking_bytes(uint64_t edges, bool reads_disk);

}  // namespace plimsoll::batch
