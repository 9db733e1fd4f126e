// The passes of an import, in the order in which build() calls them: collect the neighbour lists in
// the original numbering, find the hot nodes, then write lists and feature rows hot-first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "graph/meta.h"
#include "graph/store.h"
#include "ingest/build_plan.h"
#include "ingest/input_graph.h"
#include "io/temp_file.h"
#include "memory/buffer.h"

namespace plimsoll::ingest {

// A part of the lists in the temporary file: consecutive lists, neighbours only. A list that is too
// long for one segment continues in the next; `first_list_done` is how many of first_node's
// neighbours are in earlier segments.
struct Segment {
  uint64_t offset_bytes = 0;
  uint64_t neighbors = 0;
  uint32_t first_node = 0;
  uint64_t first_list_done = 0;
};

// In-neighbour lists in the original numbering. They are too large for memory, so they are kept in
// a temporary file as segments in no particular order; only the lengths of the lists are in memory.
// They are read several times to find the hot nodes, and once to renumber them.
class Lists {
 public:
  Lists(memory::Ledger& ledger, const io::TempPlace& temp, uint64_t nodes)
      : degrees_(ledger, "degrees", nodes), file_(temp) {}

  std::span<uint32_t> degrees() const { return degrees_.span(); }
  uint64_t nodes() const { return degrees_.size(); }
  uint64_t edges() const { return edges_; }
  const std::vector<Segment>& segments() const { return segments_; }

  // Writes the segment's neighbours to the file and sets its offset_bytes. `neighbors` is
  // page-aligned and readable up to the next whole block. Any thread may call it.
  void add(Segment segment, const std::byte* neighbors);

  // Calls visit(node, neighbors) for the lists of a segment, for a long list several times. `piece`
  // is page-aligned memory, a whole number of blocks. Any thread may call it once degrees() is
  // complete.
  template <typename Visit>
  void visit(const Segment& segment, std::span<std::byte> piece, Visit visit) const {
    uint32_t node = segment.first_node;
    uint64_t left = degrees_[node] - segment.first_list_done;
    for (uint64_t done = 0; done < segment.neighbors;) {
      const uint64_t count = std::min<uint64_t>(segment.neighbors - done, piece.size() / 4);
      const auto blocks = piece.first(io::round_up_to_block(count * 4));
      file_.read(blocks, segment.offset_bytes + done * 4);
      std::span<const uint32_t> neighbors(reinterpret_cast<const uint32_t*>(blocks.data()), count);
      while (!neighbors.empty()) {
        while (left == 0) left = degrees_[++node];
        const uint64_t take = std::min<uint64_t>(left, neighbors.size());
        visit(node, neighbors.first(take));
        neighbors = neighbors.subspan(take);
        left -= take;
      }
      done += count;
    }
  }

  // Releases the segment's disk space; it must not be visited again.
  void release(const Segment& segment);

 private:
  memory::Buffer<uint32_t> degrees_;
  io::TempFile file_;
  std::mutex mutex_;  // guards the fields below
  std::vector<Segment> segments_;
  uint64_t end_bytes_ = 0;
  uint64_t edges_ = 0;
};

struct DroppedEdges {
  uint64_t self_loops = 0;
  uint64_t duplicates = 0;
};

// Fills `lists`, which must be empty, from edges in any order (an external distribution sort,
// without a permutation array). Drops self-loops. For an undirected graph it also adds the reverse
// edges and drops duplicates.
DroppedEdges collect_lists(InputGraph& source, graph::Direction direction,
                           const BuildContext& context, Lists& lists);

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

// Writes offsets.u64 and neighbors.u32: the lists in hot-first numbering, each sorted, in the order
// of their positions. Releases the disk space of `lists`. `positions` maps original id -> position,
// `ids` position -> original id.
void write_lists(Lists& lists, std::span<const uint32_t> ids, std::span<const uint32_t> positions,
                 const BuildContext& context, graph::StoreWriter& writer);

// Writes the feature rows in hot-first order. If the source can make rows in any order, they are
// made in that order; else they are distributed on disk by position and collected bucket by bucket.
//
// Both write features.f16 or features.f32, and return how many values that are not 0 became 0 in
// f16. They throw Error{input} for a value that is not finite or that is too large for f16.
uint64_t write_rows_on_demand(const InputGraph& source, std::span<const uint32_t> ids,
                              graph::FeatureType type, const BuildContext& context,
                              graph::StoreWriter& writer);
uint64_t write_rows_permuted(InputGraph& source, std::span<const uint32_t> positions,
                             graph::FeatureType type, const BuildContext& context,
                             graph::StoreWriter& writer);

}  // namespace plimsoll::ingest
