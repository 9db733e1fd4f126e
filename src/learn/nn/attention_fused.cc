// Forward is one pass over the destinations. Backward is one pass over the destinations for the
// scores, and one over the sources for z. One thread sums each row of a result in the order of its
// list, and sums over all rows are made in chunks whose size does not depend on the threads.
#include "nn/attention_fused.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

constexpr int64_t kRowsPerBlock = 64;
constexpr int64_t kFewestRowsPerChunk = 64;
// How many edges ahead a row is prefetched, and how much of it: the CPU prefetches the rest itself.
constexpr int64_t kEdgesAhead = 4;
constexpr int64_t kFloatsPerCacheLine = 16;
constexpr int64_t kMostFloatsAhead = 512;

// ---- rows of floats ----

// Sums in eight lanes, so that the compiler can use vectors and every vector width gives the same
// result.
float dot(const float* __restrict a, const float* __restrict b, int64_t count) {
  constexpr int64_t kLanes = 8;
  float lanes[kLanes] = {};
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[at + lane] * b[at + lane];
  }
  float rest = 0;
  for (; at < count; ++at) rest += a[at] * b[at];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7])) + rest;
}

// to[h] = <a_h, b_h> for every head h.
void dot_heads(const AttentionHeads& heads, const float* a, const float* b, float* to) {
  for (int64_t h = 0; h < heads.count; ++h) {
    to[h] = dot(a + h * heads.channels, b + h * heads.channels, heads.channels);
  }
}

// to_h += scale[h] * row_h for every head h.
void add_scaled(const AttentionHeads& heads, const float* __restrict scale,
                const float* __restrict row, float* __restrict to) {
  for (int64_t h = 0; h < heads.count; ++h) {
    const float by = scale[h];
    const float* __restrict from = row + h * heads.channels;
    float* __restrict sum = to + h * heads.channels;
    for (int64_t c = 0; c < heads.channels; ++c) sum[c] += by * from[c];
  }
}

void prefetch(const float* row, int64_t width) {
  const int64_t ahead = std::min(width, kMostFloatsAhead);
  for (int64_t at = 0; at < ahead; at += kFloatsPerCacheLine) __builtin_prefetch(row + at);
}

// What the passes read and write. Each pass uses some of it.
struct AttentionPass {
  AttentionHeads heads;
  float slope = 0;
  int64_t destinations = 0;
  int64_t edges = 0;
  const int32_t* offsets = nullptr;
  const int32_t* indices = nullptr;
  const int32_t* source_offsets = nullptr;
  const int32_t* by_source = nullptr;
  const int32_t* source_edges = nullptr;
  const float* z = nullptr;
  const float* att_src = nullptr;
  const float* att_dst = nullptr;
  const float* grad_out = nullptr;
  float* source_scores = nullptr;
  float* destination_scores = nullptr;
  float* weights = nullptr;
  float* out = nullptr;
  float* grad_scores = nullptr;              // [edges + destinations, heads], like the weights
  float* grad_destination_scores = nullptr;  // [destinations, heads]
  float* grad_z = nullptr;

  const float* row(const float* rows, int64_t i) const { return rows + i * heads.width(); }
  float* row(float* rows, int64_t i) const { return rows + i * heads.width(); }
  const float* of(const float* scores, int64_t i) const { return scores + i * heads.count; }
  float* of(float* scores, int64_t i) const { return scores + i * heads.count; }
};

AttentionPass make_pass(const AttentionInputs& in, const Attention& attention) {
  AttentionPass pass;
  pass.heads = in.heads;
  pass.slope = static_cast<float>(in.slope);
  pass.destinations = in.block.destinations;
  pass.edges = in.edges;
  pass.offsets = in.block.offsets.data_ptr<int32_t>();
  pass.indices = in.block.indices.data_ptr<int32_t>();
  pass.z = in.z.data_ptr<float>();
  pass.att_src = in.att_src.data_ptr<float>();
  pass.att_dst = in.att_dst.data_ptr<float>();
  pass.weights = attention.weights.data_ptr<float>();
  pass.source_scores = attention.source_scores.data_ptr<float>();
  pass.destination_scores = attention.destination_scores.data_ptr<float>();
  return pass;
}

// ---- forward ----

void score(const AttentionPass& pass, int64_t j) {
  const float* const row = pass.row(pass.z, j);
  dot_heads(pass.heads, row, pass.att_src, pass.of(pass.source_scores, j));
  if (j < pass.destinations)
    dot_heads(pass.heads, row, pass.att_dst, pass.of(pass.destination_scores, j));
}

// The functions for one edge have no branches and pointers that do not overlap, so that compilers
// can vectorise them. Edge `edge` goes from source j to destination i.
void add_scores(const AttentionPass& pass, int64_t j, int64_t i, int64_t edge,
                float* __restrict best) {
  const float* __restrict source = pass.of(pass.source_scores, j);
  const float* __restrict own = pass.of(pass.destination_scores, i);
  float* __restrict scores = pass.of(pass.weights, edge);
  const float slope = pass.slope;
  const int64_t heads = pass.heads.count;
  for (int64_t h = 0; h < heads; ++h) {
    const float sum = source[h] + own[h];
    scores[h] = std::max(sum, 0.0F) + slope * std::min(sum, 0.0F);
    best[h] = std::max(best[h], scores[h]);
  }
}

void exponentiate(int64_t heads, float* __restrict scores, const float* __restrict best,
                  float* __restrict sum) {
  for (int64_t h = 0; h < heads; ++h) {
    scores[h] = std::exp(scores[h] - best[h]);
    sum[h] += scores[h];
  }
}

void multiply(int64_t heads, const float* __restrict by, float* __restrict scores) {
  for (int64_t h = 0; h < heads; ++h) scores[h] *= by[h];
}

// The weights of one list. `best` and `sum` are scratch memory with one float per head.
void weigh(const AttentionPass& pass, int64_t i, float* __restrict best, float* __restrict sum) {
  const int64_t heads = pass.heads.count;
  const int64_t begin = pass.offsets[i], end = pass.offsets[i + 1];
  float* const self = pass.of(pass.weights, pass.edges + i);
  std::fill_n(best, heads, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, heads, 0.0F);
  for (int64_t e = begin; e < end; ++e) add_scores(pass, pass.indices[e], i, e, best);
  add_scores(pass, i, i, pass.edges + i, best);
  for (int64_t e = begin; e < end; ++e) exponentiate(heads, pass.of(pass.weights, e), best, sum);
  exponentiate(heads, self, best, sum);
  for (int64_t h = 0; h < heads; ++h) sum[h] = 1 / sum[h];
  for (int64_t e = begin; e < end; ++e) multiply(heads, sum, pass.of(pass.weights, e));
  multiply(heads, sum, self);
}

void gather(const AttentionPass& pass, int64_t i) {
  float* const out = pass.row(pass.out, i);
  std::fill_n(out, pass.heads.width(), 0.0F);
  for (int64_t e = pass.offsets[i]; e < pass.offsets[i + 1]; ++e) {
    if (e + kEdgesAhead < pass.edges)
      prefetch(pass.row(pass.z, pass.indices[e + kEdgesAhead]), pass.heads.width());
    add_scaled(pass.heads, pass.of(pass.weights, e), pass.row(pass.z, pass.indices[e]), out);
  }
  add_scaled(pass.heads, pass.of(pass.weights, pass.edges + i), pass.row(pass.z, i), out);
}

}  // namespace

Attention attend_fused(const AttentionInputs& in) {
  const BlockTensors& block = in.block;
  const auto empty = [&](int64_t rows, int64_t columns) {
    return at::empty({rows, columns}, in.z.options());
  };
  Attention result = {empty(block.destinations, in.heads.width()),
                      empty(in.edges + block.destinations, in.heads.count),
                      empty(block.sources, in.heads.count),
                      empty(block.destinations, in.heads.count)};
  AttentionPass pass = make_pass(in, result);
  pass.out = result.out.data_ptr<float>();
  for_blocks(block.sources, kRowsPerBlock, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) score(pass, j);
  });
  for_blocks(block.destinations, kRowsPerBlock, [&](int64_t begin, int64_t end) {
    std::vector<float> best(in.heads.count), sum(in.heads.count);
    for (int64_t i = begin; i < end; ++i) {
      weigh(pass, i, best.data(), sum.data());
      gather(pass, i);
    }
  });
  return result;
}

namespace {

// ---- backward ----

void add(int64_t count, const float* __restrict from, float* __restrict to) {
  for (int64_t at = 0; at < count; ++at) to[at] += from[at];
}

void add_products(int64_t count, const float* __restrict a, const float* __restrict b,
                  float* __restrict to) {
  for (int64_t at = 0; at < count; ++at) to[at] += a[at] * b[at];
}

// Turns the gradient of an edge's weight into that of its score.
void grade_edge(const AttentionPass& pass, int64_t j, int64_t i, int64_t edge,
                const float* __restrict mean) {
  const float* __restrict source = pass.of(pass.source_scores, j);
  const float* __restrict own = pass.of(pass.destination_scores, i);
  const float* __restrict weight = pass.of(pass.weights, edge);
  float* __restrict grad = pass.of(pass.grad_scores, edge);
  float* __restrict total = pass.of(pass.grad_destination_scores, i);
  const float below = pass.slope;
  const int64_t heads = pass.heads.count;
  for (int64_t h = 0; h < heads; ++h) {
    const float slope = source[h] + own[h] > 0 ? 1.0F : below;
    grad[h] = weight[h] * (grad[h] - mean[h]) * slope;
    total[h] += grad[h];
  }
}

// The gradients of the scores of one list. A weight's gradient is <grad_out_i, z_j>; the gradient
// of the softmax subtracts their weighted mean. `mean` is scratch memory with one float per head.
void grade_scores(const AttentionPass& pass, int64_t i, float* mean) {
  const int64_t heads = pass.heads.count;
  const int64_t begin = pass.offsets[i], end = pass.offsets[i + 1];
  const float* const grad_out = pass.row(pass.grad_out, i);
  const auto grade_weight = [&](int64_t j, int64_t edge) {
    float* const grad = pass.of(pass.grad_scores, edge);
    dot_heads(pass.heads, grad_out, pass.row(pass.z, j), grad);
    add_products(heads, pass.of(pass.weights, edge), grad, mean);
  };
  std::fill_n(mean, heads, 0.0F);
  std::fill_n(pass.of(pass.grad_destination_scores, i), heads, 0.0F);
  for (int64_t e = begin; e < end; ++e) {
    if (e + kEdgesAhead < pass.edges)
      prefetch(pass.row(pass.z, pass.indices[e + kEdgesAhead]), pass.heads.width());
    grade_weight(pass.indices[e], e);
  }
  grade_weight(i, pass.edges + i);
  for (int64_t e = begin; e < end; ++e) grade_edge(pass, pass.indices[e], i, e, mean);
  grade_edge(pass, i, i, pass.edges + i, mean);
}

// One row of z's gradient. `total`, with one float per head, receives the gradient of the source's
// score.
void grade_source(const AttentionPass& pass, int64_t j, float* total) {
  const int64_t heads = pass.heads.count;
  float* const grad = pass.row(pass.grad_z, j);
  std::fill_n(grad, pass.heads.width(), 0.0F);
  std::fill_n(total, heads, 0.0F);
  const auto add_edge = [&](int64_t i, int64_t edge) {
    add(heads, pass.of(pass.grad_scores, edge), total);
    add_scaled(pass.heads, pass.of(pass.weights, edge), pass.row(pass.grad_out, i), grad);
  };
  for (int64_t k = pass.source_offsets[j]; k < pass.source_offsets[j + 1]; ++k) {
    if (k + kEdgesAhead < pass.edges) {
      prefetch(pass.row(pass.grad_out, pass.by_source[k + kEdgesAhead]), pass.heads.width());
      prefetch(pass.of(pass.grad_scores, pass.source_edges[k + kEdgesAhead]), heads);
      prefetch(pass.of(pass.weights, pass.source_edges[k + kEdgesAhead]), heads);
    }
    add_edge(pass.by_source[k], pass.source_edges[k]);
  }
  if (j < pass.destinations) {
    add_edge(j, pass.edges + j);
    add_scaled(pass.heads, pass.of(pass.grad_destination_scores, j), pass.att_dst, grad);
  }
  add_scaled(pass.heads, total, pass.att_src, grad);
}

// The gradient of z, and in `grad_att` ([2, width]) those of the two attention vectors. Chunks of
// sources give partial sums, which are added in the order of the chunks.
void grade_sources(const AttentionPass& pass, int64_t sources, float* grad_att) {
  const int64_t width = pass.heads.width();
  const int64_t chunk =
      std::max(kFewestRowsPerChunk, (sources + kAttentionChunks - 1) / kAttentionChunks);
  const int64_t chunks = (sources + chunk - 1) / chunk;
  const at::Tensor partial = at::zeros({chunks, 2 * width}, at::kFloat);  // leased, as all tensors
  for_blocks(sources, chunk, [&](int64_t begin, int64_t end) {
    std::vector<float> total(pass.heads.count);
    float* const grad_src = partial.data_ptr<float>() + begin / chunk * 2 * width;
    float* const grad_dst = grad_src + width;
    for (int64_t j = begin; j < end; ++j) {
      grade_source(pass, j, total.data());
      add_scaled(pass.heads, total.data(), pass.row(pass.z, j), grad_src);
      if (j < pass.destinations)
        add_scaled(pass.heads, pass.of(pass.grad_destination_scores, j), pass.row(pass.z, j),
                   grad_dst);
    }
  });
  for (int64_t i = 0; i < chunks; ++i)
    add(2 * width, partial.data_ptr<float>() + i * 2 * width, grad_att);
}

}  // namespace

AttentionGradients attend_backward_fused(const AttentionInputs& in, const at::Tensor& grad_out,
                                         const Attention& saved) {
  const BlockTensors& block = in.block;
  const at::Tensor grad_rows = grad_out.contiguous();
  const at::Tensor grad_scores = at::empty_like(saved.weights);
  const at::Tensor grad_destination_scores = at::empty_like(saved.destination_scores);
  const at::Tensor grad_att = at::zeros({2, 1, in.heads.count, in.heads.channels}, in.z.options());
  AttentionGradients grads = {at::empty_like(in.z), grad_att.select(0, 0), grad_att.select(0, 1)};
  AttentionPass pass = make_pass(in, saved);
  pass.source_offsets = block.source_offsets.data_ptr<int32_t>();
  pass.by_source = block.by_source.data_ptr<int32_t>();
  pass.source_edges = block.source_edges.data_ptr<int32_t>();
  pass.grad_out = grad_rows.data_ptr<float>();
  pass.grad_scores = grad_scores.data_ptr<float>();
  pass.grad_destination_scores = grad_destination_scores.data_ptr<float>();
  pass.grad_z = grads.z.data_ptr<float>();
  for_blocks(block.destinations, kRowsPerBlock, [&](int64_t begin, int64_t end) {
    std::vector<float> mean(in.heads.count);
    for (int64_t i = begin; i < end; ++i) grade_scores(pass, i, mean.data());
  });
  grade_sources(pass, block.sources, grad_att.data_ptr<float>());
  return grads;
}

}  // namespace plimsoll::nn
