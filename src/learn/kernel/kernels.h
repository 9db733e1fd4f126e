// The loops over rows that use most of training's memory bandwidth: copy rows, sum rows along edges
// (both convert half to single precision), and ReLU with dropout between two layers. Sums are made
// in the order of the list, with one multiplication and one addition per edge, so every instruction
// set gives the same bits.
//
// Does not use the standard library: kernels_*.cc are compiled for different CPUs, and the linker
// could take an inline function from the wrong one.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): <cstdint> brings in inline functions

namespace plimsoll::kernel {

// Rows of values in half or single precision, `row_bytes` apart.
struct Rows {
  const unsigned char* data = nullptr;
  uint64_t row_bytes = 0;
  uint64_t count = 0;
  uint32_t columns = 0;
  bool half = false;
};

// out[i] = row(nodes[i]), for first <= i < last. Rows of `out` follow each other without gaps.
struct Gather {
  Rows rows;
  const uint32_t* nodes = nullptr;
  float* out = nullptr;
  uint64_t first = 0;
  uint64_t last = 0;
};

// out[i] = destination_scale[i] * sum over e of source_scale[s] * row(s) + self_scale[i] * row(i),
// for first <= i < last, where s runs through indices[offsets[i] .. offsets[i + 1]]. row(s) is the
// row of node nodes[s], or row s if `nodes` is null. A scale that is null counts as 1, a self_scale
// that is null as 0. Destinations from `self_count` on have no self term.
struct Aggregate {
  Rows rows;
  const uint32_t* nodes = nullptr;
  const uint32_t* offsets = nullptr;
  const uint32_t* indices = nullptr;
  const float* destination_scale = nullptr;
  const float* source_scale = nullptr;
  const float* self_scale = nullptr;
  uint64_t self_count = UINT64_MAX;
  // A list may be summed in several calls. A call adds only the edges from_edge <= e < to_edge. If
  // a list begins before from_edge, its sum continues from the value in `out`. If a list reaches
  // to_edge, its scale and self term are left to a later call.
  uint64_t from_edge = 0;
  uint64_t to_edge = UINT64_MAX;
  bool onto_out = false;  // every sum continues from the value in `out`
  float* out = nullptr;
  uint64_t first = 0;
  uint64_t last = 0;
};

// x = max(x, 0) * (kept ? scale : 0), in place, for rows first <= i < last of `columns` values. NaN
// stays NaN. A value is kept if mix32(mix32(nodes[i] ^ key) + key_high + column * kColumnStep) >=
// threshold: this depends only on its node and column, not on the rows around it.
struct ReluDropout {
  float* x = nullptr;
  const uint32_t* nodes = nullptr;
  uint32_t columns = 0;
  uint32_t key = 0;
  uint32_t key_high = 0;
  uint32_t threshold = 0;  // 2^32 times the dropout rate
  float scale = 1;
  uint64_t first = 0;
  uint64_t last = 0;
};
constexpr uint32_t kColumnStep = 0x9e3779b9U;

// A hash: a bijection of 32-bit words with two multiplications.
constexpr uint32_t mix32(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

struct Kernels {
  const char* name;
  void (*gather)(const Gather& task);
  void (*aggregate)(const Aggregate& task);
  void (*relu_dropout)(const ReluDropout& task);
};

// The fastest kernels that this CPU can run.
const Kernels& best();

// For tests and benchmarks; null if this program or CPU does not support them.
const Kernels* plain_kernels();
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();

}  // namespace plimsoll::kernel
