// A graph from named arrays, under the names that OGB and PyG give them.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/file_graph.h"
#include "formats/input_items.h"

namespace plimsoll::formats {

// Takes edges (edge_index), features (node_feat or x) and, if they are there, labels (node_label or
// y), counts and splits (train_idx or train_mask, ...). `where` is for messages. `mask_column`: of
// masks that hold several splits, which.
GraphParts open_array_graph(InputItems& arrays, std::string_view where,
                            std::optional<uint64_t> mask_column);

}  // namespace plimsoll::formats
