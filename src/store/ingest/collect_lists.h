// First half of an import: edges in any order become in-neighbour lists (an external distribution
// sort, with no permutation array). Reverse edges are added and duplicates dropped here; self-loops
// go.
#pragma once

#include "graph/meta.h"
#include "ingest/build_context.h"
#include "ingest/input_graph.h"
#include "ingest/lists.h"

namespace plimsoll::ingest {

struct DroppedEdges {
  uint64_t self_loops = 0;
  uint64_t duplicates = 0;
};

// Fills `lists`, which must be empty.
DroppedEdges collect_lists(InputGraph& source, graph::Direction direction,
                           const BuildContext& context, Lists& lists);

}  // namespace plimsoll::ingest
