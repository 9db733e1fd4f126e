// The loops of kernels.h over any vector type: included by one kernels_*.cc per instruction set,
// which defines `Vector` first, in an unnamed namespace:
//
//   struct Vector {
//     static constexpr uint32_t kWidth;
//     using Type;
//     static Type zero(), fill(float), load(const float*), load_half(const uint16_t*);
//     static void store(float*, Type);
//     static Type add(Type, Type), multiply(Type, Type);
//   };
#pragma once

#include "kernel/kernels.h"

namespace plimsoll::kernel {
namespace {

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  uint32_t result = 0;
  float value = 0;
  if (exponent == 0) {
    value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign == 0 ? value : -value;
  }
  const uint32_t biased = exponent == 31 ? 255U : exponent + 112U;
  result = sign | (biased << 23) | (mantissa << 13);
  __builtin_memcpy(&value, &result, sizeof value);
  return value;
}

template <bool kHalf>
float load_one(const unsigned char* row, uint32_t column) {
  if constexpr (kHalf) {
    return half_to_float(reinterpret_cast<const uint16_t*>(row)[column]);
  } else {
    return reinterpret_cast<const float*>(row)[column];
  }
}

template <bool kHalf>
Vector::Type load_some(const unsigned char* row, uint32_t column) {
  if constexpr (kHalf) {
    return Vector::load_half(reinterpret_cast<const uint16_t*>(row) + column);
  } else {
    return Vector::load(reinterpret_cast<const float*>(row) + column);
  }
}

constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kRowsAhead = 12;         // how far ahead rows are asked for
constexpr uint64_t kMostAheadBytes = 1024;  // of one row; the CPU itself goes on from there

const unsigned char* row_of(const Rows& rows, const uint32_t* nodes, uint64_t i) {
  return rows.data + (nodes == nullptr ? i : nodes[i]) * rows.row_bytes;
}

void prefetch_row(const Rows& rows, const unsigned char* row) {
  const uint64_t values = uint64_t{rows.columns} * (rows.half ? 2 : 4);
  const uint64_t bytes = values < kMostAheadBytes ? values : kMostAheadBytes;
  for (uint64_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(row + i);
}

template <bool kHalf>
void gather_rows(const Gather& task) {
  const uint32_t columns = task.rows.columns;
  for (uint64_t i = task.first; i < task.last; ++i) {
    if (i + kRowsAhead < task.last) {
      prefetch_row(task.rows, row_of(task.rows, task.nodes, i + kRowsAhead));
    }
    const unsigned char* row = row_of(task.rows, task.nodes, i);
    float* out = task.out + i * columns;
    uint32_t column = 0;
    for (; column + Vector::kWidth <= columns; column += Vector::kWidth) {
      Vector::store(out + column, load_some<kHalf>(row, column));
    }
    if (column < columns && columns >= Vector::kWidth) {
      column = columns - Vector::kWidth;  // some of them a second time
      Vector::store(out + column, load_some<kHalf>(row, column));
      continue;
    }
    for (; column < columns; ++column) out[column] = load_one<kHalf>(row, column);
  }
}

// One destination's sum over kVectors vectors of columns, kept in registers.
template <bool kHalf, uint32_t kVectors>
void add_up(const Aggregate& task, uint64_t i, uint32_t column, bool ask_ahead) {
  typename Vector::Type sums[kVectors];
  for (uint32_t v = 0; v < kVectors; ++v) sums[v] = Vector::zero();
  const uint64_t all_edges = task.offsets[task.last];
  for (uint64_t e = task.offsets[i]; e < task.offsets[i + 1]; ++e) {
    if (ask_ahead && e + kRowsAhead < all_edges) {
      prefetch_row(task.rows, row_of(task.rows, task.nodes, task.indices[e + kRowsAhead]));
    }
    const uint32_t source = task.indices[e];
    const unsigned char* row = row_of(task.rows, task.nodes, source);
    if (task.source_scale != nullptr) {
      const auto scale = Vector::fill(task.source_scale[source]);
      for (uint32_t v = 0; v < kVectors; ++v) {
        const auto value = load_some<kHalf>(row, column + v * Vector::kWidth);
        sums[v] = Vector::add(sums[v], Vector::multiply(scale, value));
      }
    } else {
      for (uint32_t v = 0; v < kVectors; ++v) {
        sums[v] = Vector::add(sums[v], load_some<kHalf>(row, column + v * Vector::kWidth));
      }
    }
  }
  if (task.destination_scale != nullptr) {
    const auto scale = Vector::fill(task.destination_scale[i]);
    for (uint32_t v = 0; v < kVectors; ++v) sums[v] = Vector::multiply(scale, sums[v]);
  }
  if (task.self_scale != nullptr && i < task.self_count) {
    const unsigned char* row = row_of(task.rows, task.nodes, i);
    const auto scale = Vector::fill(task.self_scale[i]);
    for (uint32_t v = 0; v < kVectors; ++v) {
      const auto value = load_some<kHalf>(row, column + v * Vector::kWidth);
      sums[v] = Vector::add(sums[v], Vector::multiply(scale, value));
    }
  }
  float* out = task.out + i * task.rows.columns + column;
  for (uint32_t v = 0; v < kVectors; ++v) Vector::store(out + v * Vector::kWidth, sums[v]);
}

// Rows that do not fill a vector.
template <bool kHalf>
void add_up_narrow(const Aggregate& task, uint64_t i) {
  for (uint32_t column = 0; column < task.rows.columns; ++column) {
    float sum = 0;
    for (uint64_t e = task.offsets[i]; e < task.offsets[i + 1]; ++e) {
      const uint32_t source = task.indices[e];
      const float value = load_one<kHalf>(row_of(task.rows, task.nodes, source), column);
      sum += task.source_scale != nullptr ? task.source_scale[source] * value : value;
    }
    if (task.destination_scale != nullptr) sum = task.destination_scale[i] * sum;
    if (task.self_scale != nullptr && i < task.self_count) {
      sum += task.self_scale[i] * load_one<kHalf>(row_of(task.rows, task.nodes, i), column);
    }
    task.out[i * task.rows.columns + column] = sum;
  }
}

template <bool kHalf>
void aggregate_rows(const Aggregate& task) {
  constexpr uint32_t kTile = 8;
  const uint32_t columns = task.rows.columns;
  for (uint64_t i = task.first; i < task.last; ++i) {
    if (columns < Vector::kWidth) {
      add_up_narrow<kHalf>(task, i);
      continue;
    }
    uint32_t column = 0;
    for (; column + kTile * Vector::kWidth <= columns; column += kTile * Vector::kWidth) {
      add_up<kHalf, kTile>(task, i, column, column == 0);
    }
    for (; column + 2 * Vector::kWidth <= columns; column += 2 * Vector::kWidth) {
      add_up<kHalf, 2>(task, i, column, column == 0);
    }
    for (; column + Vector::kWidth <= columns; column += Vector::kWidth) {
      add_up<kHalf, 1>(task, i, column, column == 0);
    }
    // What does not fill a vector: the last one once more, shifted.
    if (column < columns) add_up<kHalf, 1>(task, i, columns - Vector::kWidth, false);
  }
}

void gather(const Gather& task) {
  task.rows.half ? gather_rows<true>(task) : gather_rows<false>(task);
}

void aggregate(const Aggregate& task) {
  task.rows.half ? aggregate_rows<true>(task) : aggregate_rows<false>(task);
}

// One row, without branches, so that compilers vectorise it.
void relu_dropout_row(float* __restrict x, uint32_t columns, uint32_t row_key,
                      const ReluDropout& task) {
  const uint32_t threshold = task.threshold;
  const float scale = task.scale;
  for (uint32_t column = 0; column < columns; ++column) {
    const float factor = mix32(row_key + column * kColumnStep) >= threshold ? scale : 0.0F;
    const float value = x[column] < 0 ? 0.0F : x[column];  // keeps NaN
    x[column] = value * factor;
  }
}

void relu_dropout(const ReluDropout& task) {
  for (uint64_t i = task.first; i < task.last; ++i) {
    const uint32_t row_key = mix32(task.nodes[i] ^ task.key) + task.key_high;
    relu_dropout_row(task.x + i * task.columns, task.columns, row_key, task);
  }
}

}  // namespace
}  // namespace plimsoll::kernel
