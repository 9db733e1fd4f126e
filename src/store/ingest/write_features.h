// Writes the feature rows in hot-first order. If the source can make rows in any order, they are
// made in that order; else they are distributed on disk by position and collected bucket by bucket.
#pragma once

#include <cstdint>
#include <span>

#include "graph/meta.h"
#include "graph/store.h"
#include "ingest/build_context.h"
#include "ingest/input_graph.h"

namespace plimsoll::ingest {

// Both write features.f16 or features.f32, and return how many values that are not 0 became 0 in
// f16. They throw Error{input} for a value that is not finite or that is too large for f16.
uint64_t write_rows_on_demand(const InputGraph& source, std::span<const uint32_t> ids,
                              graph::FeatureType type, const BuildContext& context,
                              graph::StoreWriter& writer);
uint64_t write_rows_permuted(InputGraph& source, std::span<const uint32_t> positions,
                             graph::FeatureType type, const BuildContext& context,
                             graph::StoreWriter& writer);

}  // namespace plimsoll::ingest
