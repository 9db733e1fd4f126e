// What a GPU computes for a batch, each kind of work as a function for one thread: device_store.h,
// device_batch.h, device_layers.h and device_attention.h. Two compilers see these files: NVRTC
// compiles their text, in this order, for the GPU of the machine, and the host's compiler compiles
// them for tests, which run the threads one after the other (gpu/host_accelerator.h). So they
// include nothing but what both have, threads never wait for each other, and every sum has a fixed
// order: a GPU gives the same bits in every run.
//
// Here: numbers, and where the rows and lists of a store are.
#pragma once

#ifdef __CUDACC_RTC__
#define PLIMSOLL_CODE __device__ inline
#define PLIMSOLL_UNROLL _Pragma("unroll")
#define PLIMSOLL_KERNEL(name)
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using int32_t = int;
using uint64_t = unsigned long long;
#else
#include <cmath>
#include <cstdint>

#include "base/half.h"
#define PLIMSOLL_CODE inline
#define PLIMSOLL_UNROLL
#define PLIMSOLL_KERNEL(name) static constexpr const char* kName = name  // of a task's kernel
#endif

namespace plimsoll::gpu {

constexpr uint32_t kNoNode = 0xffffffffU;  // the position is empty
constexpr uint32_t kLane = 4;              // columns of a row that one thread computes
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

}  // namespace plimsoll::gpu
