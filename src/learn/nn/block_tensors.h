// One layer's bipartite graph as tensors on the model's device. Sources are rows of the layer's
// input, destinations are rows of its output; destination i is also source i.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct BlockTensors {
  int64_t destinations = 0;
  int64_t sources = 0;
  // Destination i receives from the sources indices[offsets[i] .. offsets[i + 1]]; int32. A source
  // may be twice in a list; a destination is never in its own list.
  at::Tensor offsets;
  at::Tensor indices;
  // The same edges sorted by source: source j sends to the destinations
  // by_source[source_offsets[j] .. source_offsets[j + 1]]; source_edges has the indices of these
  // edges in the lists above, ascending. int32. Undefined if no gradients are needed.
  at::Tensor source_offsets;
  at::Tensor by_source;
  at::Tensor source_edges;
  // The edge j -> i has the weight destination_scale[i] * source_scale[j], the edge i -> i
  // self_scale[i]; float. An undefined source_scale counts as 1, an undefined self_scale as 0.
  // Attention ignores all three.
  at::Tensor destination_scale;
  at::Tensor source_scale;
  at::Tensor self_scale;
};

}  // namespace plimsoll::nn
