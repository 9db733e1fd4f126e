// Device code (gpu/device_store.h): what comes after the products of a layer, the loss, and the
// optimizer's step.
#pragma once

#ifndef __CUDACC_RTC__
#include "gpu/device_batch.h"
#endif

namespace plimsoll::gpu {

constexpr uint32_t kPartialSumRows = 64;  // rows that one thread adds up for a sum over many rows
constexpr uint32_t kChunk = 16;           // classes of a seed that one thread computes

// ---- between the layers ----

// x = relu(x + bias), with dropout by node and column if `share_threshold` is not 0.
struct Activate {
  PLIMSOLL_KERNEL("activate");
  float* x = nullptr;
  const float* bias = nullptr;
  const uint32_t* nodes = nullptr;
  const BatchState* state = nullptr;
  uint32_t layer = 0;
  uint32_t columns = 0;
  uint32_t share_threshold = 0;  // 2^32 times the dropout rate
  float scale = 1;
  uint32_t lanes = 0;
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const Activate& task, uint32_t thread) {
  const uint32_t row = thread / task.lanes;
  const uint32_t begin = (thread - row * task.lanes) * kLane;
  const uint32_t key = code_mix32(task.nodes[row] ^ task.state->dropout_keys[task.layer]) +
                       task.state->dropout_highs[task.layer];
  float* const x = task.x + uint64_t{row} * task.columns + begin;
  Four four = load_values(x, task.columns, begin);
  for (uint32_t i = 0; i < kLane; ++i) {
    // A bias need not be aligned: it is a part of the parameters.
    float value = begin + i < task.columns ? four.v[i] + task.bias[begin + i] : 0.0F;
    value = value < 0 ? 0.0F : value;  // keeps NaN
    if (task.share_threshold > 0) {
      const bool kept = code_mix32(key + (begin + i) * 0x9e3779b9U) >= task.share_threshold;
      value = value * (kept ? task.scale : 0.0F);
    }
    four.v[i] = value;
  }
  store_values(x, four, task.columns, begin);
}

// The weighted sums of a later layer: position i adds up its neighbours at n + i * k + q.
struct SumTree {
  PLIMSOLL_KERNEL("sum_tree");
  const float* x = nullptr;  // [n * (1 + k), columns]
  float* sums = nullptr;     // [n, columns]
  const uint32_t* degrees = nullptr;
  const float* roots = nullptr;
  SumWeights weights = SumWeights::none;
  uint32_t positions = 0;  // n
  uint32_t fanout = 0;     // k
  uint32_t columns = 0;
  uint32_t lanes = 0;
  uint32_t threads = 0;
};

// The factor of a position's sum.
PLIMSOLL_CODE float sum_scale(SumWeights weights, const float* roots, uint32_t degree,
                              uint32_t fanout) {
  const uint32_t count = least(degree, fanout);
  if (count == 0) return 0;
  const auto picked = static_cast<float>(count);
  if (weights == SumWeights::mean) return 1.0F / picked;
  return root_of(roots, degree) * (static_cast<float>(degree) / picked);
}

PLIMSOLL_CODE void run_thread(const SumTree& task, uint32_t thread) {
  const uint32_t position = thread / task.lanes;
  const uint32_t begin = (thread - position * task.lanes) * kLane;
  const uint32_t degree = task.degrees[position];
  const uint32_t count = least(degree, task.fanout);
  const uint64_t first = task.positions + uint64_t{position} * task.fanout;
  const bool by_graph = task.weights == SumWeights::graph;
  Four sum = {};
  for (uint32_t q = 0; q < count; ++q) {
    const Four x = load_values(task.x + (first + q) * task.columns + begin, task.columns, begin);
    const float scale = by_graph ? root_of(task.roots, task.degrees[first + q]) : 1.0F;
    for (uint32_t i = 0; i < kLane; ++i) sum.v[i] = sum.v[i] + scale * x.v[i];
  }
  const float scale = sum_scale(task.weights, task.roots, degree, task.fanout);
  for (uint32_t i = 0; i < kLane; ++i) sum.v[i] = sum.v[i] * scale;
  const uint64_t place = uint64_t{position} * task.columns + begin;
  if (by_graph) {
    const float root = root_of(task.roots, degree);
    const Four own = load_values(task.x + place, task.columns, begin);
    for (uint32_t i = 0; i < kLane; ++i) sum.v[i] = sum.v[i] + (root * root) * own.v[i];
  }
  store_values(task.sums + place, sum, task.columns, begin);
}

// The gradient of SumTree's x, taken back through ReLU and dropout, in the place of x itself.
struct SpreadGradient {
  PLIMSOLL_KERNEL("spread_gradient");
  float* x = nullptr;           // [n * (1 + k), columns]: values, then gradients
  const float* sums = nullptr;  // gradient of the sums, [n, columns]
  const float* own = nullptr;   // gradient of the positions' own values; null: there is none
  const uint32_t* degrees = nullptr;
  const float* roots = nullptr;
  SumWeights weights = SumWeights::none;
  uint32_t positions = 0;
  uint32_t fanout = 0;
  uint32_t columns = 0;
  float scale = 1;  // of the values that dropout kept
  uint32_t lanes = 0;
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const SpreadGradient& task, uint32_t thread) {
  const uint32_t source = thread / task.lanes;
  const uint32_t begin = (thread - source * task.lanes) * kLane;
  const bool by_graph = task.weights == SumWeights::graph;
  const bool inner = source < task.positions;
  uint32_t position = source;
  bool reached = true;
  if (!inner) {
    position = (source - task.positions) / task.fanout;
    const uint32_t q = (source - task.positions) - position * task.fanout;
    reached = q < least(task.degrees[position], task.fanout);
  }
  float factor = 0;  // of the sum's gradient
  if (inner && by_graph) {
    const float root = root_of(task.roots, task.degrees[position]);
    factor = root * root;
  } else if (!inner && reached) {
    factor = sum_scale(task.weights, task.roots, task.degrees[position], task.fanout);
    if (by_graph) factor = factor * root_of(task.roots, task.degrees[source]);
  }
  float* const x = task.x + uint64_t{source} * task.columns + begin;
  const uint64_t from = uint64_t{position} * task.columns + begin;
  Four gradient = {};
  if (factor != 0) {
    gradient = load_values(task.sums + from, task.columns, begin);
    for (uint32_t i = 0; i < kLane; ++i) gradient.v[i] = factor * gradient.v[i];
  }
  if (inner && task.own != nullptr) {
    const Four own = load_values(task.own + from, task.columns, begin);
    for (uint32_t i = 0; i < kLane; ++i) gradient.v[i] = gradient.v[i] + own.v[i];
  }
  const Four value = load_values(x, task.columns, begin);
  for (uint32_t i = 0; i < kLane; ++i) {
    gradient.v[i] = value.v[i] > 0 ? gradient.v[i] * task.scale : 0.0F;
  }
  store_values(x, gradient, task.columns, begin);
}

// ---- the loss, in three steps: over kChunk classes, over a seed, and its gradient ----

// Logits are kept by class, [classes, seeds]: then threads for neighbouring seeds read neighbouring
// values.

// Some classes of a seed, for one thread.
struct ClassChunk {
  uint32_t seed = 0;
  uint32_t begin = 0;  // of the classes
  uint32_t end = 0;
};

PLIMSOLL_CODE uint32_t chunks_of(uint32_t classes) { return (classes + kChunk - 1) / kChunk; }

PLIMSOLL_CODE ClassChunk chunk_of(uint32_t thread, uint32_t seeds, uint32_t classes) {
  const uint32_t chunk = thread / seeds;
  const uint32_t begin = chunk * kChunk;
  return {thread - chunk * seeds, begin, least(classes, begin + kChunk)};
}

// Of one chunk of a seed's logits.
struct ChunkFigures {
  float most = 0;
  float exponentials = 0;  // sum of exp(value - most)
  float sum = 0;
};

// Adds the bias, and notes each chunk's figures if they are wanted.
struct AddBias {
  PLIMSOLL_KERNEL("add_bias");
  float* logits = nullptr;
  const float* bias = nullptr;
  ChunkFigures* chunks = nullptr;  // null: not wanted
  uint32_t classes = 0;
  uint32_t seeds = 0;  // of a part, the empty ones included
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const AddBias& task, uint32_t thread) {
  const ClassChunk chunk = chunk_of(thread, task.seeds, task.classes);
  float* const logits = task.logits + chunk.seed;
  const uint64_t step = task.seeds;
  ChunkFigures figures;
  for (uint32_t c = chunk.begin; c < chunk.end; ++c) {
    const float value = logits[c * step] + task.bias[c];
    logits[c * step] = value;
    // A NaN stays: every comparison with it is false.
    figures.most = c == chunk.begin || !(value <= figures.most) ? value : figures.most;
    figures.sum = figures.sum + value;
  }
  if (task.chunks == nullptr) return;
  for (uint32_t c = chunk.begin; c < chunk.end; ++c) {
    figures.exponentials = figures.exponentials + expf(logits[c * step] - figures.most);
  }
  task.chunks[thread] = figures;
}

// Of a seed's logits: the logarithm of a class's probability is its logit - most - log_sum.
struct SeedFigures {
  float most = 0;
  float log_sum = 0;
};

// The loss of each seed, and the figures that its gradient needs.
struct SeedLosses {
  PLIMSOLL_KERNEL("seed_losses");
  const float* logits = nullptr;
  const ChunkFigures* chunks = nullptr;
  const int32_t* labels = nullptr;
  const BatchState* state = nullptr;
  SeedFigures* figures = nullptr;
  float* losses = nullptr;  // one per seed
  float smoothing = 0;
  uint32_t classes = 0;
  uint32_t threads = 0;  // seeds
};

PLIMSOLL_CODE void run_thread(const SeedLosses& task, uint32_t seed) {
  const uint32_t chunks = chunks_of(task.classes);
  SeedFigures figures;
  for (uint32_t i = 0; i < chunks; ++i) {
    const float most = task.chunks[uint64_t{i} * task.threads + seed].most;
    figures.most = i == 0 || !(most <= figures.most) ? most : figures.most;
  }
  float exponentials = 0;
  float sum = 0;
  for (uint32_t i = 0; i < chunks; ++i) {
    const ChunkFigures& chunk = task.chunks[uint64_t{i} * task.threads + seed];
    exponentials = exponentials + chunk.exponentials * expf(chunk.most - figures.most);
    sum = sum + chunk.sum;
  }
  figures.log_sum = logf(exponentials);
  task.figures[seed] = figures;
  float loss = 0;
  if (seed < task.state->seeds) {
    const auto label = static_cast<uint64_t>(task.labels[seed]);
    const float logit = task.logits[label * task.threads + seed];
    loss = (logit - figures.most - figures.log_sum) * (task.smoothing - 1.0F);
    if (task.smoothing > 0) {
      const auto classes = static_cast<float>(task.classes);
      const float all = sum - classes * (figures.most + figures.log_sum);
      loss = loss - all * (task.smoothing / classes);
    }
  }
  task.losses[seed] = loss;
}

// Replaces the logits by the gradient of the batch's mean loss.
struct LossGradient {
  PLIMSOLL_KERNEL("loss_gradient");
  float* logits = nullptr;
  const int32_t* labels = nullptr;
  const SeedFigures* figures = nullptr;
  const BatchState* state = nullptr;
  float smoothing = 0;
  uint32_t classes = 0;
  uint32_t seeds = 0;
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const LossGradient& task, uint32_t thread) {
  const ClassChunk chunk = chunk_of(thread, task.seeds, task.classes);
  float* const logits = task.logits + chunk.seed;
  const uint64_t step = task.seeds;
  const bool there = chunk.seed < task.state->seeds;
  const SeedFigures figures = task.figures[chunk.seed];
  const float share = 1.0F / static_cast<float>(task.state->whole);
  const float even = task.smoothing / static_cast<float>(task.classes);
  const auto label = static_cast<uint32_t>(task.labels[chunk.seed]);
  for (uint32_t c = chunk.begin; c < chunk.end; ++c) {
    float gradient = expf(logits[c * step] - figures.most - figures.log_sum) - even;
    if (c == label) gradient = gradient + (task.smoothing - 1.0F);
    logits[c * step] = there ? gradient * share : 0.0F;
  }
}

// ---- sums over many rows, in steps with a fixed order ----

// partial_sums[i, c]: the sum of kPartialSumRows rows of column c. The value of row r is at
// r * row_step + c * column_step. With `factors`, each row's columns of a head are multiplied by
// one of them.
struct AddRows {
  PLIMSOLL_KERNEL("add_rows");
  const float* values = nullptr;
  float* partial_sums = nullptr;
  uint64_t row_step = 0;
  uint64_t column_step = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  const float* factors = nullptr;  // [rows, heads]
  uint32_t heads = 0;
  uint32_t threads = 0;  // partial sums of a column, times columns
};

PLIMSOLL_CODE void run_thread(const AddRows& task, uint32_t thread) {
  const uint32_t place = thread / task.columns;
  const uint32_t column = thread - place * task.columns;
  const uint32_t begin = place * kPartialSumRows;
  const uint32_t end = least(task.rows, begin + kPartialSumRows);
  const float* const values = task.values + column * task.column_step;
  float sum = 0;
  if (task.factors == nullptr) {
    for (uint32_t row = begin; row < end; ++row) sum = sum + values[row * task.row_step];
  } else {
    const float* const factors = task.factors + column / (task.columns / task.heads);
    for (uint32_t row = begin; row < end; ++row) {
      sum = sum + factors[uint64_t{row} * task.heads] * values[row * task.row_step];
    }
  }
  task.partial_sums[thread] = sum;
}

// out[c] += the partial sums of column c.
struct AddPartialSums {
  PLIMSOLL_KERNEL("add_partial_sums");
  const float* partial_sums = nullptr;
  float* out = nullptr;
  uint32_t count = 0;    // of a column
  uint32_t threads = 0;  // columns
};

PLIMSOLL_CODE void run_thread(const AddPartialSums& task, uint32_t column) {
  float sum = task.out[column];
  for (uint32_t i = 0; i < task.count; ++i) {
    sum = sum + task.partial_sums[uint64_t{i} * task.threads + column];
  }
  task.out[column] = sum;
}

// ---- the optimizer: as nn/adam.cc ----

// Also sets the gradients to 0, for the next batch.
struct AdamStep {
  PLIMSOLL_KERNEL("adam_step");
  float* values = nullptr;
  float* gradients = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  const PassFacts* pass = nullptr;
  const BatchState* state = nullptr;
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const AdamStep& task, uint32_t thread) {
  float gradient = task.gradients[thread];
  const float value = task.values[thread];
  if (task.pass->weight_decay > 0) gradient = gradient + task.pass->weight_decay * value;
  const float mean = task.mean[thread] * task.beta1 + (1.0F - task.beta1) * gradient;
  const float square =
      task.square[thread] * task.beta2 + (1.0F - task.beta2) * (gradient * gradient);
  const float divisor = sqrtf(square) / task.state->correction2 + task.epsilon;
  task.values[thread] = value - task.pass->lr / task.state->correction1 * (mean / divisor);
  task.mean[thread] = mean;
  task.square[thread] = square;
  task.gradients[thread] = 0;
}

}  // namespace plimsoll::gpu
