// Neighbour lists on their way into a store: collected by destination, sorted, written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "graph/meta.h"
#include "graph/store.h"
#include "ingest/build_context.h"
#include "ingest/input_graph.h"
#include "io/temp_file.h"
#include "memory/buffer.h"

namespace plimsoll::ingest {

// In-neighbour lists in the owner's numbering, between the two sorts of an import: too large for
// memory, read several times (to find the hot nodes), then renumbered. They lie in a temporary file
// as segments in no particular order; the lengths of all lists are in memory.

// Consecutive lists, neighbours only. Where a list is longer than a segment may be, it goes on in
// another: `first_list_done` is how many of first_node's neighbours stand in segments before.
struct Segment {
  uint64_t offset_bytes = 0;
  uint64_t neighbors = 0;
  uint32_t first_node = 0;
  uint64_t first_list_done = 0;
};

class Lists {
 public:
  Lists(memory::Ledger& ledger, const io::TempPlace& temp, uint64_t nodes)
      : degrees_(ledger, "degrees", nodes), file_(temp) {}

  std::span<uint32_t> degrees() const { return degrees_.span(); }
  uint64_t nodes() const { return degrees_.size(); }
  uint64_t edges() const { return edges_; }
  const std::vector<Segment>& segments() const { return segments_; }

  // Takes the segment's neighbours from page-aligned memory that is readable up to the next whole
  // block. Any thread.
  void add(Segment segment, const std::byte* neighbors);

  // Calls visit(node, neighbors) for the lists of a segment, a long list in several parts. `piece`
  // is page-aligned memory, a multiple of the block. Any thread, once degrees() are complete.
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

  // Gives the segment's disk space back; it must not be visited again.
  void release(const Segment& segment);

 private:
  memory::Buffer<uint32_t> degrees_;
  io::TempFile file_;
  std::mutex mutex_;  // guards the fields below
  std::vector<Segment> segments_;
  uint64_t end_bytes_ = 0;
  uint64_t edges_ = 0;
};

// First half of an import: edges in any order become in-neighbour lists (an external distribution
// sort, with no permutation array). Reverse edges are added and duplicates dropped here; self-loops
// go.

struct DroppedEdges {
  uint64_t self_loops = 0;
  uint64_t duplicates = 0;
};

// Fills `lists`, which must be empty.
DroppedEdges collect_lists(InputGraph& source, graph::Direction direction,
                           const BuildContext& context, Lists& lists);

// Second half of an import: the lists in hot-first numbering, each sorted, written in order of
// position.

// `positions`: original id -> position; `ids`: position -> original id. Writes offsets.u64 and
// neighbors.u32 and gives the lists' disk space back.
void write_lists(Lists& lists, std::span<const uint32_t> ids, std::span<const uint32_t> positions,
                 const BuildContext& context, graph::StoreWriter& writer);

}  // namespace plimsoll::ingest
