// Device code (gpu/device_store.h): the attention of a position to itself and to what it drew, as
// in nn/attention_fused.cc.
//
// In a tree, every source of a layer has exactly one edge: position i < n is its own source, and
// the sources n + i * k + q are its draws. So weights and scores of edges are kept by source, and
// every gradient of a source comes from one destination. The edge of an empty source has the weight
// 0, and so has its gradient.
#pragma once

#ifndef __CUDACC_RTC__
#include "gpu/device_layers.h"
#endif

namespace plimsoll::gpu {

constexpr float kNegativeSlope = 0.2F;  // as nn::attend

// The edges of a layer. Values of an edge are [sources, heads].
struct LayerEdges {
  const uint32_t* nodes = nullptr;  // of the sources
  uint32_t positions = 0;           // n, the destinations
  uint32_t fanout = 0;              // k
  uint32_t heads = 0;
  uint32_t channels = 0;  // of a head
};

PLIMSOLL_CODE uint32_t width_of(const LayerEdges& edges) { return edges.heads * edges.channels; }

PLIMSOLL_CODE uint32_t first_draw(const LayerEdges& edges, uint32_t position) {
  return edges.positions + position * edges.fanout;
}

PLIMSOLL_CODE uint32_t drawn_count(const LayerEdges& edges, uint32_t position) {
  const uint32_t* const nodes = edges.nodes + first_draw(edges, position);
  uint32_t count = 0;
  while (count < edges.fanout && nodes[count] != kNoNode) ++count;
  return count;
}

PLIMSOLL_CODE uint32_t destination_of(const LayerEdges& edges, uint32_t source) {
  return source < edges.positions ? source : (source - edges.positions) / edges.fanout;
}

// Results of a layer, or their gradients: by position, or those of the last layer by class.
struct LayerResults {
  float* values = nullptr;
  uint64_t row_step = 0;
  uint64_t column_step = 0;
};

PLIMSOLL_CODE const float* result_at(const LayerResults& results, uint32_t row, uint32_t column) {
  return results.values + row * results.row_step + column * results.column_step;
}

// The product of a head's channels with others, which are `step` values apart.
PLIMSOLL_CODE float head_product(const float* z, uint32_t channels, const float* others,
                                 uint64_t step) {
  float sum = 0;
  for (uint32_t begin = 0; begin < channels; begin += kLane) {
    const Four four = load_values(z + begin, channels, begin);
    for (uint32_t i = 0; i < kLane && begin + i < channels; ++i) {
      sum = sum + four.v[i] * others[(begin + i) * step];
    }
  }
  return sum;
}

// The heads of four columns.
struct FourHeads {
  uint32_t v[kLane];
};

PLIMSOLL_CODE FourHeads heads_of(const LayerEdges& edges, uint32_t begin) {
  FourHeads heads = {};
  for (uint32_t i = 0; i < kLane; ++i) {
    heads.v[i] = least(begin + i, width_of(edges) - 1) / edges.channels;
  }
  return heads;
}

// ---- forward ----

// Both parts of the scores: of every source, and of the destinations.
struct ScoreSources {
  PLIMSOLL_KERNEL("score_sources");
  LayerEdges edges;
  const float* z = nullptr;  // [sources, heads * channels]
  const float* att_src = nullptr;
  const float* att_dst = nullptr;
  float* scores = nullptr;      // [sources, heads]
  float* own_scores = nullptr;  // [positions, heads]
  uint32_t threads = 0;         // sources, times heads
};

PLIMSOLL_CODE void run_thread(const ScoreSources& task, uint32_t thread) {
  const LayerEdges& edges = task.edges;
  const uint32_t source = thread / edges.heads;
  const uint32_t begin = (thread - source * edges.heads) * edges.channels;
  const float* const z = task.z + uint64_t{thread} * edges.channels;
  task.scores[thread] = head_product(z, edges.channels, task.att_src + begin, 1);
  if (source >= edges.positions) return;
  task.own_scores[thread] = head_product(z, edges.channels, task.att_dst + begin, 1);
}

PLIMSOLL_CODE float leaky(float score) { return score > 0 ? score : kNegativeSlope * score; }

// The weights of a destination's edges: a softmax over its draws and itself.
struct WeighSources {
  PLIMSOLL_KERNEL("weigh_sources");
  LayerEdges edges;
  const float* scores = nullptr;
  const float* own_scores = nullptr;
  float* weights = nullptr;  // [sources, heads]
  uint32_t threads = 0;      // positions, times heads
};

PLIMSOLL_CODE void run_thread(const WeighSources& task, uint32_t thread) {
  const LayerEdges& edges = task.edges;
  const uint32_t position = thread / edges.heads;
  const uint32_t head = thread - position * edges.heads;
  const uint32_t count = drawn_count(edges, position);
  const uint64_t first = uint64_t{first_draw(edges, position)} * edges.heads + head;
  const float* const scores = task.scores + first;
  float* const weights = task.weights + first;
  const uint64_t step = edges.heads;
  const float own = task.own_scores[thread];
  const float self = leaky(task.scores[thread] + own);
  float most = self;
  for (uint32_t q = 0; q < count; ++q) {
    const float score = leaky(scores[q * step] + own);
    most = score > most ? score : most;
  }
  float sum = 0;
  for (uint32_t q = 0; q < count; ++q) {
    const float power = expf(leaky(scores[q * step] + own) - most);
    weights[q * step] = power;
    sum = sum + power;
  }
  const float self_power = expf(self - most);
  const float share = 1.0F / (sum + self_power);
  for (uint32_t q = 0; q < edges.fanout; ++q) {
    weights[q * step] = q < count ? weights[q * step] * share : 0.0F;
  }
  task.weights[thread] = self_power * share;
}

// The weighted sums of z.
struct SumSources {
  PLIMSOLL_KERNEL("sum_sources");
  LayerEdges edges;
  const float* z = nullptr;
  const float* weights = nullptr;
  LayerResults out;
  uint32_t lanes = 0;
  uint32_t threads = 0;  // positions, times lanes
};

PLIMSOLL_CODE void run_thread(const SumSources& task, uint32_t thread) {
  const LayerEdges& edges = task.edges;
  const uint32_t width = width_of(edges);
  const uint32_t position = thread / task.lanes;
  const uint32_t begin = (thread - position * task.lanes) * kLane;
  const uint32_t count = drawn_count(edges, position);
  const FourHeads heads = heads_of(edges, begin);
  Four sum = {};
  for (uint32_t q = 0; q <= count; ++q) {  // itself last
    const uint64_t source = q < count ? first_draw(edges, position) + q : position;
    const Four z = load_values(task.z + source * width + begin, width, begin);
    const float* const weights = task.weights + source * edges.heads;
    for (uint32_t i = 0; i < kLane; ++i) sum.v[i] = sum.v[i] + weights[heads.v[i]] * z.v[i];
  }
  float* const out = task.out.values + position * task.out.row_step;
  if (task.out.column_step == 1) {
    store_values(out + begin, sum, width, begin);
    return;
  }
  for (uint32_t i = 0; i < kLane && begin + i < width; ++i) {
    out[(begin + i) * task.out.column_step] = sum.v[i];
  }
}

// ---- backward ----

// The gradients of the edges' weights.
struct GradeWeights {
  PLIMSOLL_KERNEL("grade_weights");
  LayerEdges edges;
  const float* z = nullptr;
  LayerResults gradient;       // of the results
  float* gradients = nullptr;  // [sources, heads]
  uint32_t threads = 0;        // sources, times heads
};

PLIMSOLL_CODE void run_thread(const GradeWeights& task, uint32_t thread) {
  const LayerEdges& edges = task.edges;
  const uint32_t source = thread / edges.heads;
  float gradient = 0;
  if (edges.nodes[source] != kNoNode) {
    const uint32_t begin = (thread - source * edges.heads) * edges.channels;
    gradient = head_product(task.z + uint64_t{thread} * edges.channels, edges.channels,
                            result_at(task.gradient, destination_of(edges, source), begin),
                            task.gradient.column_step);
  }
  task.gradients[thread] = gradient;
}

// Turns the gradients of a destination's weights into those of its scores.
struct GradeScores {
  PLIMSOLL_KERNEL("grade_scores");
  LayerEdges edges;
  const float* scores = nullptr;
  const float* own_scores = nullptr;
  const float* weights = nullptr;
  float* gradients = nullptr;      // [sources, heads]
  float* own_gradients = nullptr;  // [positions, heads]
  uint32_t threads = 0;            // positions, times heads
};

PLIMSOLL_CODE void run_thread(const GradeScores& task, uint32_t thread) {
  const LayerEdges& edges = task.edges;
  const uint32_t position = thread / edges.heads;
  const uint32_t head = thread - position * edges.heads;
  const uint32_t count = drawn_count(edges, position);
  const uint64_t first = uint64_t{first_draw(edges, position)} * edges.heads + head;
  const float own = task.own_scores[thread];
  float mean = 0;
  for (uint32_t q = 0; q <= count; ++q) {  // itself last
    const uint64_t edge = q < count ? first + uint64_t{q} * edges.heads : thread;
    mean = mean + task.weights[edge] * task.gradients[edge];
  }
  float sum = 0;
  for (uint32_t q = 0; q <= count; ++q) {
    const uint64_t edge = q < count ? first + uint64_t{q} * edges.heads : thread;
    const float slope = task.scores[edge] + own > 0 ? 1.0F : kNegativeSlope;
    const float gradient = task.weights[edge] * (task.gradients[edge] - mean) * slope;
    task.gradients[edge] = gradient;
    sum = sum + gradient;
  }
  task.own_gradients[thread] = sum;
}

// Replaces z by its gradient.
struct GradeSources {
  PLIMSOLL_KERNEL("grade_sources");
  LayerEdges edges;
  float* z = nullptr;
  LayerResults gradient;  // of the results
  const float* weights = nullptr;
  const float* gradients = nullptr;      // of the scores
  const float* own_gradients = nullptr;  // of the scores
  const float* att_src = nullptr;
  const float* att_dst = nullptr;
  uint32_t lanes = 0;
  uint32_t threads = 0;  // sources, times lanes
};

PLIMSOLL_CODE void run_thread(const GradeSources& task, uint32_t thread) {
  const LayerEdges& edges = task.edges;
  const uint32_t width = width_of(edges);
  const uint32_t source = thread / task.lanes;
  const uint32_t begin = (thread - source * task.lanes) * kLane;
  const FourHeads heads = heads_of(edges, begin);
  const float* const given = result_at(task.gradient, destination_of(edges, source), begin);
  Four sum = {};
  for (uint32_t i = 0; i < kLane && begin + i < width; ++i) {
    const uint64_t edge = uint64_t{source} * edges.heads + heads.v[i];
    sum.v[i] = task.weights[edge] * given[i * task.gradient.column_step];
    if (source < edges.positions) {
      sum.v[i] = sum.v[i] + task.own_gradients[edge] * task.att_dst[begin + i];
    }
    sum.v[i] = sum.v[i] + task.gradients[edge] * task.att_src[begin + i];
  }
  store_values(task.z + uint64_t{source} * width + begin, sum, width, begin);
}

}  // namespace plimsoll::gpu
