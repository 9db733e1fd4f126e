// The operations that layers are made of, each with its gradient and without autograd: sums along
// edges, matrix products, ReLU with dropout, attention, and the loss. Each has a file of its own.
// On a CPU, a result has the same bits with any number of threads (nn/threads.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

// One layer's bipartite graph as tensors on the model's device. Sources are rows of the layer's
// input, destinations are rows of its output; destination i is also source i.
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

// ---- sums along a block's edges (aggregate.cc) ----

// [destinations, columns]: for every destination the weighted sum of its sources' rows of x.
at::Tensor aggregate(const at::Tensor& x, const BlockTensors& block);

// [sources, columns]: the gradient of x, from the gradient of the sums.
at::Tensor aggregate_backward(const at::Tensor& gradient, const BlockTensors& block);

// ---- matrix products (product.cc) ----

// On a CPU they are computed in blocks of rows; BLAS multiplies each block on one thread.

// a b.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);
// a b + bias, where `bias` is added to every row.
at::Tensor product_plus_bias(const at::Tensor& bias, const at::Tensor& a, const at::Tensor& b);
// out += a b.
void add_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);
// out += a^T b: a sum over the rows of both, made in parts that are added in order. `out` must be
// contiguous.
void add_transposed_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

// out += the sum of a's rows, also made in parts.
void add_column_sums(const at::Tensor& out, const at::Tensor& a);
// Adds `bias` to every row of x.
void add_bias(const at::Tensor& x, const at::Tensor& bias);

// ---- ReLU and dropout between two layers, in one pass over the values (activation.cc) ----

struct Dropout {
  double share = 0;  // of the values that become 0; the others are scaled up to compensate
  uint64_t key = 0;  // selects, together with node and column, which values are dropped
};

// The first entries of `nodes` (int32, positions in the store) are the nodes of x's rows. Whether a
// value is dropped depends on its node, so it is the same on every device and if a batch is
// computed in parts. `nodes` is not read without dropout.
void relu_dropout_in_place(at::Tensor& x, const at::Tensor& nodes, const Dropout& dropout);

// Changes `gradient`. `out` is the result of relu_dropout_in_place; a value that was dropped or
// negative is 0 there, so no mask has to be kept.
void relu_dropout_backward_in_place(at::Tensor& gradient, const at::Tensor& out,
                                    double dropped_share);

// ---- graph attention after the linear map (attention.cc) ----

// As in PyG's GATConv with self loops: a destination weights its list and itself with a softmax
// over leaky_relu(<z_j, att_src> + <z_i, att_dst>), separately for each head.

// What attend() returns and attend_backward() needs: `out`, and one float per head for every weight
// and every score.
struct Attention {
  at::Tensor out;                 // [destinations, heads * channels], without bias
  at::Tensor weights;             // [edges + destinations, heads]: the lists, then i -> i
  at::Tensor source_scores;       // [sources, heads]: <z_j, att_src>
  at::Tensor destination_scores;  // [destinations, heads]: <z_i, att_dst>
};

struct AttentionGradients {
  at::Tensor z;        // [sources, heads * channels]
  at::Tensor att_src;  // [1, heads, channels]
  at::Tensor att_dst;  // [1, heads, channels]
};

// by_device: on a CPU, fused kernels that never allocate edges x channels values and give the same
// bits with any number of threads; on a GPU like `operators`. operators: tensor operators that
// allocate a message for every edge; on a GPU the last bits may differ from run to run.
enum class AttentionPath { by_device, operators };

// The tensors are float and on the same device.
struct AttentionArguments {
  at::Tensor z;        // [sources, heads * channels]
  at::Tensor att_src;  // [1, heads, channels]
  at::Tensor att_dst;  // [1, heads, channels]
  const BlockTensors& block;
  double negative_slope = 0.2;
  AttentionPath path = AttentionPath::by_device;
};
Attention attend(const AttentionArguments& arguments);

// `saved` is the result of attend() for the same arguments; its `out` is not read. On a CPU the
// block needs its edges by source.
AttentionGradients attend_backward(const AttentionArguments& arguments, const at::Tensor& grad_out,
                                   const Attention& saved);

// ---- cross-entropy with label smoothing, as in PyTorch (loss.cc) ----

struct Loss {
  at::Tensor sum;       // over the rows, a single value on the logits' device
  at::Tensor gradient;  // of sum / count; has the shape of the logits
};

// `labels` (int32 or int64) has a class for every row. The gradient is divided by `count`, the
// number of rows of the whole batch; these rows may be a part of it.
Loss cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                   int64_t count);

// The column of each row's largest value, int64.
at::Tensor largest_column(const at::Tensor& logits);
// How many rows have their largest value in the column of their label.
at::Tensor count_correct(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace plimsoll::nn
