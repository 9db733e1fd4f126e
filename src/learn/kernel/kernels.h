// The loops over rows that training spends its memory bandwidth on: copy rows, add rows up along
// edges (both converting half to single precision on the way), and what comes between two layers.
// Sums are made in the order of the list with a multiplication and an addition each, so every
// instruction set gives the same bits.
//
// Free of the standard library: kernels_*.cc are compiled for CPUs that others do not have.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): <cstdint> brings in inline functions

namespace plimsoll::kernel {

// Rows of values, `row_bytes` apart; half or single precision.
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
// for first <= i < last, where s runs through indices[offsets[i] .. offsets[i + 1]]. Row s is the
// row of node nodes[s], or s itself without `nodes`. A missing scale is 1, a missing self_scale 0;
// i from `self_count` on have no self term.
struct Aggregate {
  Rows rows;
  const uint32_t* nodes = nullptr;
  const uint32_t* offsets = nullptr;
  const uint32_t* indices = nullptr;
  const float* destination_scale = nullptr;
  const float* source_scale = nullptr;
  const float* self_scale = nullptr;
  uint64_t self_count = UINT64_MAX;
  // A list may be added up in several calls: only edges from <= e < to are added, a sum whose list
  // begins before goes on from what `out` holds, and one whose list reaches `to` is left without
  // its scale and self term, for the next call.
  uint64_t from_edge = 0;
  uint64_t to_edge = UINT64_MAX;
  float* out = nullptr;
  uint64_t first = 0;
  uint64_t last = 0;
};

// x = max(x, 0) * (kept ? scale : 0), in place, for rows first <= i < last of `columns` values;
// what is not finite stays to be seen. A value is kept where mix32(mix32(nodes[i] ^ key) + key_high
// + column * kColumnStep) >= threshold: it depends on its node and column, not on the rows around
// it.
struct ReluDropout {
  float* x = nullptr;
  const uint32_t* nodes = nullptr;
  uint32_t columns = 0;
  uint32_t key = 0;
  uint32_t key_high = 0;
  uint32_t threshold = 0;  // 2^32 times the share that is dropped
  float scale = 1;
  uint64_t first = 0;
  uint64_t last = 0;
};
constexpr uint32_t kColumnStep = 0x9e3779b9U;

// A bijection of 32-bit words, in two multiplications.
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

// What this CPU does best.
const Kernels& best();

// Each of them, for tests and benchmarks; null where this program or CPU has none.
const Kernels* plain_kernels();
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();

}  // namespace plimsoll::kernel
