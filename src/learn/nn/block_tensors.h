// One layer's bipartite graph as tensors on the model's device: who sends to whom. Sources are rows
// of the layer's input, destinations rows of its output; destination i is also source i.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct BlockTensors {
  int64_t destinations = 0;
  int64_t sources = 0;
  // Destination i receives from the sources indices[offsets[i] .. offsets[i + 1]]; int32. A source
  // may stand twice in a list, a destination never stands in its own.
  at::Tensor offsets;
  at::Tensor indices;
  // The same edges by source: source j sends to by_source[source_offsets[j] ..], which are edges
  // source_edges[...] of the lists above; int32, ascending. Undefined where no gradient flows.
  at::Tensor source_offsets;
  at::Tensor by_source;
  at::Tensor source_edges;
  // An edge j -> i weighs destination_scale[i] * source_scale[j], the edge i -> i self_scale[i];
  // float. Undefined source_scale is 1, undefined self_scale is 0. Attention ignores all three.
  at::Tensor destination_scale;
  at::Tensor source_scale;
  at::Tensor self_scale;
};

}  // namespace plimsoll::nn
