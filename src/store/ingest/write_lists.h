// Second half of an import: the lists in hot-first numbering, each sorted, written in order of
// position.
#pragma once

#include <cstdint>
#include <span>

#include "graph/store_writer.h"
#include "ingest/build_context.h"
#include "ingest/lists.h"

namespace plimsoll::ingest {

// `positions`: original id -> position; `ids`: position -> original id. Writes offsets.u64 and
// neighbors.u32 and gives the lists' disk space back.
void write_lists(Lists& lists, std::span<const uint32_t> ids, std::span<const uint32_t> positions,
                 const BuildContext& context, graph::StoreWriter& writer);

}  // namespace plimsoll::ingest
