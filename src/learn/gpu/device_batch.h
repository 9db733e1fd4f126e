// Device code (gpu/device_store.h): the seeds of a batch, its draws, the sums of its first layer,
// and which rows it needs from disk.
//
// A batch here is a tree: position i < n_0 is a seed, and the fan-out k of hop h gives each of its
// n_h positions k more, so that n_{h+1} = n_h * (1 + k). The neighbour q of position i is at
// n_h + i * k + q. A node that was drawn twice has two positions, which compute the same. No table
// of nodes is needed, no list of edges, and the sizes are the same for every batch.
#pragma once

#ifndef __CUDACC_RTC__
#include "gpu/device_store.h"
#endif

namespace plimsoll::gpu {

constexpr uint32_t kMostHops = 8;
constexpr uint32_t kMostFanout = 32;  // picks are kept in an array

// ---- the order of a pass: as batch/seeds.h ----

// The nodes and labels of a list, shuffled by the key; with half_bits 0, as they are.
struct OrderSeeds {
  PLIMSOLL_KERNEL("order_seeds");
  const uint32_t* nodes = nullptr;
  const int32_t* labels = nullptr;  // may be null
  uint32_t* out = nullptr;
  int32_t* out_labels = nullptr;
  uint64_t key = 0;
  uint32_t half_bits = 0;
  uint32_t threads = 0;
};

PLIMSOLL_CODE uint64_t permuted(uint64_t x, uint64_t key, uint32_t half_bits) {
  constexpr int kRounds = 10;
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = x >> half_bits;
  uint64_t right = x & mask;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (code_mix64(key + right * kRounds + round) & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

PLIMSOLL_CODE void run_thread(const OrderSeeds& task, uint32_t thread) {
  uint64_t place = thread;
  if (task.half_bits > 0) {
    const uint64_t key = code_mix64(task.key);
    do {
      place = permuted(place, key, task.half_bits);
    } while (place >= task.threads);
  }
  task.out[thread] = task.nodes[place];
  if (task.labels != nullptr) task.out_labels[thread] = task.labels[place];
}

// ---- the batch under way ----

// Of a pass over some nodes; written when it begins.
struct PassFacts {
  const uint32_t* nodes = nullptr;  // in the order of the pass, from batch `base` on
  const int32_t* labels = nullptr;  // of these; null if there are none
  uint64_t base = 0;
  uint64_t size = 0;
  uint64_t draws_key = 0;
  uint64_t dropout_key = 0;
  uint32_t batch_size = 0;
  float lr = 0;
  float weight_decay = 0;
};

// Moves on by itself: no value of it comes from the host while a pass runs.
struct BatchState {
  uint64_t index = 0;   // of the batch in its pass
  uint64_t steps = 0;   // of the optimizer
  uint64_t first = 0;   // place of the part's first seed among the pass's nodes
  uint32_t before = 0;  // seeds in earlier parts of the batch
  uint32_t seeds = 0;   // in this part
  uint32_t whole = 0;   // in the batch
  float loss = 0;       // of the parts so far
  float correction1 = 1;
  float correction2 = 1;
  uint64_t hop_keys[kMostHops] = {};
  uint32_t dropout_keys[kMostHops] = {};
  uint32_t dropout_highs[kMostHops] = {};
};

// Begins a part of a batch: finds its seeds and keys.
struct BeginPart {
  PLIMSOLL_KERNEL("begin_part");
  const PassFacts* pass = nullptr;
  BatchState* state = nullptr;
  uint32_t part_seeds = 0;
  uint32_t hops = 0;
  uint32_t threads = 1;
};

PLIMSOLL_CODE void run_thread(const BeginPart& task, uint32_t /*thread*/) {
  BatchState& state = *task.state;
  const PassFacts& pass = *task.pass;
  const uint64_t begin = (state.index - pass.base) * pass.batch_size;
  const uint64_t left = pass.size - begin;
  state.whole = left < pass.batch_size ? static_cast<uint32_t>(left) : pass.batch_size;
  const uint32_t more = state.whole - state.before;
  state.seeds = more < task.part_seeds ? more : task.part_seeds;
  state.first = begin + state.before;
  const uint64_t key = stream_at(stream_key(pass.draws_key, state.index), 0);
  const uint64_t dropout = stream_at(stream_key(pass.dropout_key, 0), state.index);
  for (uint32_t hop = 0; hop < task.hops; ++hop) {
    state.hop_keys[hop] = stream_at(stream_key(key, hop), 0);
    const uint64_t layer_key = code_mix64(code_mix64(dropout + hop));
    state.dropout_keys[hop] = static_cast<uint32_t>(layer_key);
    state.dropout_highs[hop] = static_cast<uint32_t>(layer_key >> 32);
  }
}

// Counts a part as done.
struct EndPart {
  PLIMSOLL_KERNEL("end_part");
  BatchState* state = nullptr;
  uint32_t threads = 1;
};

PLIMSOLL_CODE void run_thread(const EndPart& task, uint32_t /*thread*/) {
  task.state->before += task.state->seeds;
}

// Counts a batch as done, and notes its loss. In an evaluation `losses` is null.
struct EndBatch {
  PLIMSOLL_KERNEL("end_batch");
  BatchState* state = nullptr;
  float* losses = nullptr;  // one per batch of the pass
  double beta1 = 0;
  double beta2 = 0;
  uint32_t threads = 1;
};

PLIMSOLL_CODE void run_thread(const EndBatch& task, uint32_t /*thread*/) {
  BatchState& state = *task.state;
  if (task.losses != nullptr) {
    task.losses[state.index] = state.loss;
    ++state.steps;
    const auto steps = static_cast<double>(state.steps);
    state.correction1 = static_cast<float>(1.0 - pow(task.beta1, steps));
    state.correction2 = static_cast<float>(sqrt(1.0 - pow(task.beta2, steps)));
  }
  state.loss = 0;
  state.before = 0;
  ++state.index;
}

// The nodes and labels of the part's seeds; the places behind them become empty.
struct TakeSeeds {
  PLIMSOLL_KERNEL("take_seeds");
  const PassFacts* pass = nullptr;
  const BatchState* state = nullptr;
  uint32_t* nodes = nullptr;
  int32_t* labels = nullptr;
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const TakeSeeds& task, uint32_t thread) {
  const bool there = thread < task.state->seeds;
  task.nodes[thread] = there ? task.pass->nodes[task.state->first + thread] : kNoNode;
  const bool labelled = there && task.pass->labels != nullptr;
  task.labels[thread] = labelled ? task.pass->labels[task.state->first + thread] : -1;
}

// ---- draws: as sample/choose.cc ----

// Which entries of a list a node takes: `picks[i] < degree`. Returns how many.
template <uint32_t kFanout>
PLIMSOLL_CODE uint32_t pick(uint64_t hop_key, uint32_t node, uint64_t degree, uint32_t fanout,
                            uint64_t* picks) {
  if (degree <= fanout) {
    PLIMSOLL_UNROLL
    for (uint32_t i = 0; i < kFanout; ++i) picks[i] = i;
    return static_cast<uint32_t>(degree);
  }
  const uint64_t draws = stream_key(code_mix64(hop_key + node), 0);
  PLIMSOLL_UNROLL
  for (uint32_t i = 0; i < kFanout; ++i) {
    if (i >= fanout) break;
    const uint64_t newest = degree - fanout + i;
    uint64_t place = high_product(stream_at(draws, i), newest + 1);
    bool taken = false;
    PLIMSOLL_UNROLL
    for (uint32_t j = 0; j < kFanout; ++j) taken |= j < i && picks[j] == place;
    picks[i] = taken ? newest : place;
  }
  return fanout;
}

// One hop for positions 0 .. threads - 1; kFanout is the fan-out itself, or kMostFanout.
struct DrawHop {
  PLIMSOLL_KERNEL("draw_hop");
  ListFiles lists;
  const BatchState* state = nullptr;
  uint32_t* nodes = nullptr;
  uint32_t hop = 0;
  uint32_t fanout = 0;
  uint32_t threads = 0;
};

template <uint32_t kFanout>
PLIMSOLL_CODE void run_thread(const DrawHop& task, uint32_t thread) {
  const uint32_t node = task.nodes[thread];
  const uint64_t out = task.threads + uint64_t{thread} * task.fanout;
  uint32_t count = 0;
  if (node != kNoNode) {
    uint64_t picks[kFanout];
    const ListPlace list = list_of(task.lists, node);
    count = pick<kFanout>(task.state->hop_keys[task.hop], node, list.degree, task.fanout, picks);
    PLIMSOLL_UNROLL
    for (uint32_t q = 0; q < kFanout; ++q) {
      if (q < count) task.nodes[out + q] = neighbor_at(task.lists, list.begin + picks[q]);
    }
  }
  for (uint32_t q = count; q < task.fanout; ++q) task.nodes[out + q] = kNoNode;
}

// ---- the first layer's sums, along the last hop, which is drawn here and never written ----

enum class SumWeights : uint32_t { none, mean, graph };

struct SumRows {
  PLIMSOLL_KERNEL("sum_rows");
  ListFiles lists;
  FeatureRows rows;
  const BatchState* state = nullptr;
  const uint32_t* nodes = nullptr;
  const float* roots = nullptr;  // see root_of
  float* sums = nullptr;         // [positions, columns]; null: only the own rows
  float* own = nullptr;          // [positions, columns]; null: not wanted
  uint32_t* degrees = nullptr;   // of the positions' nodes, in the whole graph
  SumWeights weights = SumWeights::none;
  uint32_t hop = 0;
  uint32_t fanout = 0;
  uint32_t lanes = 0;  // threads for a position
  uint32_t threads = 0;
};

template <uint32_t kFanout>
PLIMSOLL_CODE void run_thread(const SumRows& task, uint32_t thread) {
  const uint32_t position = thread / task.lanes;
  const uint32_t lane = thread - position * task.lanes;
  const uint32_t column = lane * kLane;
  const uint64_t out = uint64_t{position} * task.rows.columns + column;
  const uint32_t node = task.nodes[position];
  Four sum = {};
  Four own = {};
  uint32_t degree = 0;
  if (node != kNoNode) {
    own = row_values(task.rows, node, column);
    if (task.sums != nullptr) {
      const ListPlace list = list_of(task.lists, node);
      degree = static_cast<uint32_t>(list.degree);
      uint64_t picks[kFanout];
      const uint32_t count =
          pick<kFanout>(task.state->hop_keys[task.hop], node, list.degree, task.fanout, picks);
      uint32_t drawn[kFanout];
      PLIMSOLL_UNROLL
      for (uint32_t q = 0; q < kFanout; ++q) {
        if (q < count) drawn[q] = neighbor_at(task.lists, list.begin + picks[q]);
      }
      const bool by_graph = task.weights == SumWeights::graph;
      PLIMSOLL_UNROLL
      for (uint32_t q = 0; q < kFanout; ++q) {
        if (q >= count) break;
        const Four row = row_values(task.rows, drawn[q], column);
        const float scale =
            by_graph
                ? root_of(task.roots, static_cast<uint32_t>(list_of(task.lists, drawn[q]).degree))
                : 1.0F;
        for (uint32_t i = 0; i < kLane; ++i) sum.v[i] = sum.v[i] + scale * row.v[i];
      }
      const float root = by_graph ? root_of(task.roots, degree) : 0.0F;
      const auto picked = static_cast<float>(count);
      float scale = 0;
      if (count > 0) {
        scale = by_graph ? root * (static_cast<float>(degree) / picked) : 1.0F / picked;
      }
      for (uint32_t i = 0; i < kLane; ++i) {
        sum.v[i] = sum.v[i] * scale;
        if (by_graph) sum.v[i] = sum.v[i] + (root * root) * own.v[i];
      }
    }
  }
  if (lane == 0 && task.degrees != nullptr) task.degrees[position] = degree;
  if (task.sums != nullptr) store_values(task.sums + out, sum, task.rows.columns, column);
  if (task.own != nullptr) store_values(task.own + out, own, task.rows.columns, column);
}

// ---- the rows that a batch needs from disk ----

// Marks the cold rows of a position and of what it draws in the last hop: one bit for each.
struct MarkRows {
  PLIMSOLL_KERNEL("mark_rows");
  ListFiles lists;
  const BatchState* state = nullptr;
  const uint32_t* nodes = nullptr;
  uint32_t* marks = nullptr;
  uint32_t first_cold = kNoNode;
  uint32_t hop = 0;
  uint32_t fanout = 0;
  uint32_t draws = 0;  // whether there are neighbours
  uint32_t threads = 0;
};

PLIMSOLL_CODE void mark(uint32_t* marks, uint32_t bit) {
#ifdef __CUDACC_RTC__
  atomicOr(marks + bit / 32, 1U << (bit % 32));
#else
  marks[bit / 32] |= 1U << (bit % 32);
#endif
}

template <uint32_t kFanout>
PLIMSOLL_CODE void run_thread(const MarkRows& task, uint32_t thread) {
  const uint32_t node = task.nodes[thread];
  if (node == kNoNode) return;
  if (node >= task.first_cold) mark(task.marks, node - task.first_cold);
  if (task.draws == 0) return;
  const ListPlace list = list_of(task.lists, node);
  uint64_t picks[kFanout];
  const uint32_t count =
      pick<kFanout>(task.state->hop_keys[task.hop], node, list.degree, task.fanout, picks);
  PLIMSOLL_UNROLL
  for (uint32_t q = 0; q < kFanout; ++q) {
    if (q >= count) break;
    const uint32_t drawn = neighbor_at(task.lists, list.begin + picks[q]);
    if (drawn >= task.first_cold) mark(task.marks, drawn - task.first_cold);
  }
}

}  // namespace plimsoll::gpu
