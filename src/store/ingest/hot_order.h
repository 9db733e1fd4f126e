// Finds the hot nodes, those that training will visit most, and numbers the nodes so that the
// hottest come first. The hotness of a node is its expected number of visits over three sampled
// hops from the nodes of the splits.
//
//   h_0(v)     = 1 for a node of train, valid or test, else 0
//   h_k+1(u)   = sum over the lists v that hold u of  h_k(v) * min(1, 10 / length of v's list)
//   visits(u)  = h_0(u) + h_1(u) + h_2(u) + h_3(u)
//
// This is the expected number of times u is drawn when every split node is a seed once and each hop
// draws up to ten neighbours without replacement. If the graph has no splits, or if the order by
// degree is requested, visits(u) is the number of lists that hold u: its degree. Nodes are sorted
// by visits and then by the length of their list (both descending), then by original id; if the
// original order is requested, they keep their numbers.
#pragma once

#include <cstdint>
#include <span>

#include "graph/meta.h"
#include "ingest/build_context.h"
#include "ingest/lists.h"
#include "memory/buffer.h"

namespace plimsoll::ingest {

constexpr int kHotHops = 3;
constexpr uint32_t kHotFanout = 10;

struct HotOrder {
  graph::NodeOrder by = graph::NodeOrder::visits;
  memory::Buffer<uint32_t> ids;   // position -> original id
  memory::Buffer<float> hotness;  // position -> expected visits
};

// `in_split` has one byte per node: not 0 if the node is in a split.
HotOrder find_hot_order(const Lists& lists, std::span<const uint8_t> in_split,
                        graph::NodeOrder wanted, const BuildContext& context);

}  // namespace plimsoll::ingest
