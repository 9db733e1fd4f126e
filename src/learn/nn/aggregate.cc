// On a CPU the kernels of kernel/ sum the rows directly. On a GPU the block is a sparse matrix of
// ones, and the rows are scaled before and after the product. Neither allocates a message per edge.
#include <ATen/ops/_sparse_csr_tensor_unsafe.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include "kernel/kernels.h"
#include "nn/operations.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

constexpr int64_t kRowsABlock = 256;

const uint32_t* whole_numbers(const at::Tensor& tensor) {
  return reinterpret_cast<const uint32_t*>(tensor.data_ptr<int32_t>());
}

const float* floats_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}

// Edges in either direction, with the scales of their ends.
struct Edges {
  int64_t receivers = 0;
  int64_t senders = 0;
  const at::Tensor& offsets;
  const at::Tensor& indices;
  const at::Tensor& receiver_scale;
  const at::Tensor& sender_scale;
  const at::Tensor& self_scale;
  int64_t self_count = 0;
};

at::Tensor sum_on_cpu(const at::Tensor& x, const Edges& edges) {
  const int64_t columns = x.size(1);
  at::Tensor out = at::empty({edges.receivers, columns}, x.options());
  const kernel::Aggregate task = {
      .rows = {.data = reinterpret_cast<const unsigned char*>(x.data_ptr<float>()),
               .row_bytes = static_cast<uint64_t>(columns) * sizeof(float),
               .count = static_cast<uint64_t>(x.size(0)),
               .columns = static_cast<uint32_t>(columns)},
      .offsets = whole_numbers(edges.offsets),
      .indices = whole_numbers(edges.indices),
      .destination_scale = floats_or_null(edges.receiver_scale),
      .source_scale = floats_or_null(edges.sender_scale),
      .self_scale = floats_or_null(edges.self_scale),
      .self_count = static_cast<uint64_t>(edges.self_count),
      .out = out.data_ptr<float>()};
  for_blocks(edges.receivers, kRowsABlock, [&](int64_t first, int64_t last) {
    kernel::Aggregate part = task;
    part.first = static_cast<uint64_t>(first);
    part.last = static_cast<uint64_t>(last);
    kernel::best().aggregate(part);
  });
  return out;
}

at::Tensor sum_on_gpu(const at::Tensor& x, const Edges& edges) {
  const at::Tensor scaled =
      edges.sender_scale.defined() ? x.mul(edges.sender_scale.unsqueeze(1)) : x;
  const at::Tensor ones = at::ones({edges.indices.size(0)}, x.options());
  const at::Tensor matrix = at::_sparse_csr_tensor_unsafe(edges.offsets, edges.indices, ones,
                                                          {edges.receivers, edges.senders},
                                                          x.options().layout(at::kSparseCsr));
  at::Tensor out = at::mm(matrix, scaled);
  if (edges.receiver_scale.defined()) out.mul_(edges.receiver_scale.unsqueeze(1));
  if (edges.self_scale.defined()) {
    out.narrow(0, 0, edges.self_count)
        .addcmul_(x.narrow(0, 0, edges.self_count), edges.self_scale.unsqueeze(1));
  }
  return out;
}

at::Tensor sum(const at::Tensor& x, const Edges& edges) {
  const at::Tensor rows = x.contiguous();
  return rows.is_cpu() ? sum_on_cpu(rows, edges) : sum_on_gpu(rows, edges);
}

}  // namespace

at::Tensor aggregate(const at::Tensor& x, const BlockTensors& block) {
  return sum(x, {.receivers = block.destinations,
                 .senders = block.sources,
                 .offsets = block.offsets,
                 .indices = block.indices,
                 .receiver_scale = block.destination_scale,
                 .sender_scale = block.source_scale,
                 .self_scale = block.self_scale,
                 .self_count = block.destinations});
}

at::Tensor aggregate_backward(const at::Tensor& gradient, const BlockTensors& block) {
  return sum(gradient, {.receivers = block.sources,
                        .senders = block.destinations,
                        .offsets = block.source_offsets,
                        .indices = block.by_source,
                        .receiver_scale = block.source_scale,
                        .sender_scale = block.destination_scale,
                        .self_scale = block.self_scale,
                        .self_count = block.destinations});
}

}  // namespace plimsoll::nn
