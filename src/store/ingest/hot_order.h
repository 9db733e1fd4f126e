// Which nodes training will visit most: expected visits from the split's nodes over three sampled
// hops, and the numbering that follows from it.
//
//   h_0(v)     = 1 for a node of train, valid or test, else 0
//   h_k+1(u)   = sum over the lists v that hold u of  h_k(v) * min(1, 10 / length of v's list)
//   visits(u)  = h_0(u) + h_1(u) + h_2(u) + h_3(u)
//
// that is, the expected number of times u is drawn when every split node is a seed once and each
// hop draws up to ten neighbours without replacement. Without splits, and where the order by degree
// is asked for, visits(u) is the number of lists that hold u: its degree. Nodes go by visits, then
// by length of list (both falling), then by original id; or, where that is asked for, stay as they
// are.
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

// `in_split`: non-zero for the nodes of a split, one byte a node.
HotOrder find_hot_order(const Lists& lists, std::span<const uint8_t> in_split,
                        graph::NodeOrder wanted, const BuildContext& context);

}  // namespace plimsoll::ingest
