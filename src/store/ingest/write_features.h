// Feature rows into hot-first order: made in that order where the source can, else distributed on
// disk by position and gathered a bucket at a time.
#pragma once

#include <cstdint>
#include <span>

#include "graph/meta.h"
#include "graph/store.h"
#include "ingest/build_context.h"
#include "ingest/input_graph.h"

namespace plimsoll::ingest {

// Both write features.f16 or .f32 and return how many values other than 0 became 0 in f16. They
// throw Error{input} for a value that is not finite, or that f16 cannot hold.
uint64_t write_rows_on_demand(const InputGraph& source, std::span<const uint32_t> ids,
                              graph::FeatureType type, const BuildContext& context,
                              graph::StoreWriter& writer);
uint64_t write_rows_permuted(InputGraph& source, std::span<const uint32_t> positions,
                             graph::FeatureType type, const BuildContext& context,
                             graph::StoreWriter& writer);

}  // namespace plimsoll::ingest
