// What a GPU computes for a batch, each kind of work as a function for one thread. Two compilers
// see this file: NVRTC compiles its text for the GPU of the machine, and the host's compiler
// compiles it for tests, which run the threads one after the other (gpu/host_accelerator.h). So it
// includes nothing but what both have, threads never wait for each other, and every sum has a fixed
// order: a GPU gives the same bits in every run.
//
// A batch here is a tree: position i < n_0 is a seed, and the fan-out k of hop h gives each of its
// n_h positions k more, so that n_{h+1} = n_h * (1 + k). The neighbour q of position i is at
// n_h + i * k + q. A node that was drawn twice has two positions, which compute the same. No table
// of nodes is needed, no list of edges, and the sizes are the same for every batch.
#pragma once

#ifdef __CUDACC_RTC__
#define PLIMSOLL_CODE __device__ inline
#define PLIMSOLL_UNROLL _Pragma("unroll")
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using int32_t = int;
using uint64_t = unsigned long long;
#else
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#define PLIMSOLL_CODE inline
#define PLIMSOLL_UNROLL
#endif

namespace plimsoll::gpu {

constexpr uint32_t kNoNode = 0xffffffffU;  // the position is empty
constexpr uint32_t kMostHops = 8;
constexpr uint32_t kMostFanout = 32;  // picks are kept in an array
constexpr uint32_t kLane = 4;         // columns of a row that one thread computes
constexpr uint32_t kPartRows = 64;    // rows that one thread adds up for a sum over many rows
constexpr uint32_t kChunk = 16;       // classes of a seed that one thread computes
constexpr uint32_t kRootTable = 4096;

// ---- numbers: the same as in base/random.h and kernel/kernels.h ----

PLIMSOLL_CODE uint64_t code_mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  x ^= x >> 31;
  return x;
}

PLIMSOLL_CODE uint32_t code_mix32(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

// RandomStream(seed, stream).at(index).
PLIMSOLL_CODE uint64_t stream_key(uint64_t seed, uint64_t stream) {
  return code_mix64(code_mix64(seed) + stream);
}
PLIMSOLL_CODE uint64_t stream_at(uint64_t key, uint64_t index) {
  return code_mix64(key + index * 0x9e3779b97f4a7c15U);
}

PLIMSOLL_CODE uint64_t high_product(uint64_t a, uint64_t b) {
#ifdef __CUDACC_RTC__
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
}

PLIMSOLL_CODE float half_value(uint16_t bits) {
#ifdef __CUDACC_RTC__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  return from_half(bits);
#endif
}

// 1 / sqrt(degree + 1), rounded as on the CPU. `table` has the first values.
PLIMSOLL_CODE float root_of(const float* table, uint32_t degree) {
  if (degree < kRootTable) return table[degree];
  return static_cast<float>(1.0 / sqrt(static_cast<double>(degree) + 1.0));
}

PLIMSOLL_CODE uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

// ---- a store's files ----

// The bytes before the line are in the GPU's memory, the others in memory that it can read.
struct LinedBytes {
  const uint8_t* near = nullptr;
  const uint8_t* far = nullptr;
  uint64_t line = 0;
};

PLIMSOLL_CODE const uint8_t* at(const LinedBytes& file, uint64_t byte) {
  return byte < file.line ? file.near + byte : file.far + (byte - file.line);
}

struct ListFiles {
  LinedBytes offsets;
  LinedBytes neighbors;
};

struct ListPlace {
  uint64_t begin = 0;
  uint64_t degree = 0;
};

PLIMSOLL_CODE ListPlace list_of(const ListFiles& lists, uint32_t node) {
  const auto* first = reinterpret_cast<const uint64_t*>(at(lists.offsets, uint64_t{node} * 8));
  const auto* last = reinterpret_cast<const uint64_t*>(at(lists.offsets, uint64_t{node} * 8 + 8));
  return {*first, *last - *first};
}

PLIMSOLL_CODE uint32_t neighbor_at(const ListFiles& lists, uint64_t place) {
  return *reinterpret_cast<const uint32_t*>(at(lists.neighbors, place * 4));
}

// Where the rows are that only the disk holds: those that the next batches want, in the order of
// slots[node - first cold node].
struct ColdPlace {
  const uint8_t* rows = nullptr;
  const uint32_t* slots = nullptr;
};

struct FeatureRows {
  LinedBytes file;
  const ColdPlace* cold = nullptr;  // of nodes from `first_cold` on
  uint32_t first_cold = kNoNode;
  uint64_t row_bytes = 0;
  uint32_t columns = 0;
  uint32_t half = 0;    // whether the values are in half precision
  uint32_t packed = 0;  // whether every lane of a row can be read at once
};

struct Four {
  float v[kLane];
};

// Four values of a row of `columns` that begin at `column`; beyond the last column 0.
PLIMSOLL_CODE Four load_values(const float* from, uint32_t columns, uint32_t column) {
  Four four = {};
#ifdef __CUDACC_RTC__
  if (columns % kLane == 0) {
    const float4 words = *reinterpret_cast<const float4*>(from);
    four.v[0] = words.x;
    four.v[1] = words.y;
    four.v[2] = words.z;
    four.v[3] = words.w;
    return four;
  }
#endif
  for (uint32_t i = 0; i < kLane && column + i < columns; ++i) four.v[i] = from[i];
  return four;
}

PLIMSOLL_CODE void store_values(float* out, const Four& four, uint32_t columns, uint32_t column) {
#ifdef __CUDACC_RTC__
  if (columns % kLane == 0) {
    *reinterpret_cast<float4*>(out) = make_float4(four.v[0], four.v[1], four.v[2], four.v[3]);
    return;
  }
#endif
  for (uint32_t i = 0; i < kLane && column + i < columns; ++i) out[i] = four.v[i];
}

PLIMSOLL_CODE const uint8_t* row_of(const FeatureRows& rows, uint32_t node) {
  if (node < rows.first_cold) return at(rows.file, node * rows.row_bytes);
  return rows.cold->rows + rows.cold->slots[node - rows.first_cold] * rows.row_bytes;
}

// The values column .. column + 3 of a node's row; beyond the last column 0.
PLIMSOLL_CODE Four row_values(const FeatureRows& rows, uint32_t node, uint32_t column) {
  const uint8_t* row = row_of(rows, node);
  Four four = {};
  if (rows.half != 0) {
    const auto* values = reinterpret_cast<const uint16_t*>(row) + column;
#ifdef __CUDACC_RTC__
    if (rows.packed != 0) {
      const uint2 words = *reinterpret_cast<const uint2*>(values);
      four.v[0] = half_value(static_cast<uint16_t>(words.x));
      four.v[1] = half_value(static_cast<uint16_t>(words.x >> 16));
      four.v[2] = half_value(static_cast<uint16_t>(words.y));
      four.v[3] = half_value(static_cast<uint16_t>(words.y >> 16));
      return four;
    }
#endif
    for (uint32_t i = 0; i < kLane && column + i < rows.columns; ++i) {
      four.v[i] = half_value(values[i]);
    }
    return four;
  }
  const auto* values = reinterpret_cast<const float*>(row) + column;
#ifdef __CUDACC_RTC__
  if (rows.packed != 0) {
    const float4 words = *reinterpret_cast<const float4*>(values);
    four.v[0] = words.x;
    four.v[1] = words.y;
    four.v[2] = words.z;
    four.v[3] = words.w;
    return four;
  }
#endif
  for (uint32_t i = 0; i < kLane && column + i < rows.columns; ++i) four.v[i] = values[i];
  return four;
}

// ---- the order of a pass: as batch/seeds.h ----

// The nodes and labels of a list, shuffled by the key; with half_bits 0, as they are.
struct OrderSeeds {
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
  BatchState* state = nullptr;
  uint32_t threads = 1;
};

PLIMSOLL_CODE void run_thread(const EndPart& task, uint32_t /*thread*/) {
  task.state->before += task.state->seeds;
}

// Counts a batch as done, and notes its loss. In an evaluation `losses` is null.
struct EndBatch {
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

// ---- which rows of the disk a batch will want ----

// Marks the cold rows of a position and of what it draws in the last hop: one bit for each.
struct MarkRows {
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

// ---- between the layers ----

// x = relu(x + bias), with dropout by node and column if `share_threshold` is not 0.
struct Activate {
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
// values. A thread is for chunk thread / seeds of seed thread % seeds.

// Of one chunk of a seed's logits.
struct ChunkFigures {
  float most = 0;
  float exponentials = 0;  // sum of exp(value - most)
  float sum = 0;
};

// Adds the bias, and notes each chunk's figures if they are wanted.
struct ReadLogits {
  float* logits = nullptr;
  const float* bias = nullptr;
  ChunkFigures* chunks = nullptr;  // null: not wanted
  uint32_t classes = 0;
  uint32_t seeds = 0;  // of a part, the empty ones included
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const ReadLogits& task, uint32_t thread) {
  const uint32_t chunk = thread / task.seeds;
  const uint32_t seed = thread - chunk * task.seeds;
  const uint32_t begin = chunk * kChunk;
  const uint32_t end = least(task.classes, begin + kChunk);
  float* const logits = task.logits + seed;
  const uint64_t step = task.seeds;
  ChunkFigures figures;
  for (uint32_t c = begin; c < end; ++c) {
    const float value = logits[c * step] + task.bias[c];
    logits[c * step] = value;
    // A NaN stays: every comparison with it is false.
    figures.most = c == begin || !(value <= figures.most) ? value : figures.most;
    figures.sum = figures.sum + value;
  }
  if (task.chunks == nullptr) return;
  for (uint32_t c = begin; c < end; ++c) {
    figures.exponentials = figures.exponentials + expf(logits[c * step] - figures.most);
  }
  task.chunks[thread] = figures;
}

// The loss of a seed, and what its gradient needs: a value's logarithm is value - most - log_sum.
struct SeedFigures {
  float most = 0;
  float log_sum = 0;
};

struct AddUpLogits {
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

PLIMSOLL_CODE void run_thread(const AddUpLogits& task, uint32_t seed) {
  const uint32_t chunks = (task.classes + kChunk - 1) / kChunk;
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
struct TurnLogits {
  float* logits = nullptr;
  const int32_t* labels = nullptr;
  const SeedFigures* figures = nullptr;
  const BatchState* state = nullptr;
  float smoothing = 0;
  uint32_t classes = 0;
  uint32_t seeds = 0;
  uint32_t threads = 0;
};

PLIMSOLL_CODE void run_thread(const TurnLogits& task, uint32_t thread) {
  const uint32_t chunk = thread / task.seeds;
  const uint32_t seed = thread - chunk * task.seeds;
  const uint32_t begin = chunk * kChunk;
  const uint32_t end = least(task.classes, begin + kChunk);
  float* const logits = task.logits + seed;
  const uint64_t step = task.seeds;
  const bool there = seed < task.state->seeds;
  const SeedFigures figures = task.figures[seed];
  const float share = 1.0F / static_cast<float>(task.state->whole);
  const float even = task.smoothing / static_cast<float>(task.classes);
  const auto label = static_cast<uint32_t>(task.labels[seed]);
  for (uint32_t c = begin; c < end; ++c) {
    float gradient = expf(logits[c * step] - figures.most - figures.log_sum) - even;
    if (c == label) gradient = gradient + (task.smoothing - 1.0F);
    logits[c * step] = there ? gradient * share : 0.0F;
  }
}

// ---- sums over many rows, in steps with a fixed order ----

// parts[p, c]: the sum of kPartRows rows of column c. A value is at row * row_step + c *
// column_step.
struct AddRows {
  const float* values = nullptr;
  float* parts = nullptr;
  uint64_t row_step = 0;
  uint64_t column_step = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t threads = 0;  // parts times columns
};

PLIMSOLL_CODE void run_thread(const AddRows& task, uint32_t thread) {
  const uint32_t part = thread / task.columns;
  const uint32_t column = thread - part * task.columns;
  const uint32_t begin = part * kPartRows;
  const uint32_t end = least(task.rows, begin + kPartRows);
  const float* const values = task.values + column * task.column_step;
  float sum = 0;
  for (uint32_t row = begin; row < end; ++row) sum = sum + values[row * task.row_step];
  task.parts[thread] = sum;
}

// out[c] += the parts of column c.
struct AddParts {
  const float* values = nullptr;
  float* out = nullptr;
  uint32_t parts = 0;
  uint32_t threads = 0;  // columns
};

PLIMSOLL_CODE void run_thread(const AddParts& task, uint32_t column) {
  float sum = task.out[column];
  for (uint32_t part = 0; part < task.parts; ++part) {
    sum = sum + task.values[uint64_t{part} * task.threads + column];
  }
  task.out[column] = sum;
}

// ---- the optimizer: as nn/adam.cc ----

// Also sets the gradients to 0, for the next batch.
struct AdamStep {
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
