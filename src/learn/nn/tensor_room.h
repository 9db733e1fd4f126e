// How much memory a tensor takes. Used by our allocator for torch (train/tensor_memory.cc) and by
// plans. Does not need torch.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace plimsoll::nn {

constexpr uint64_t kTensorHeaderBytes = 128;

// Rounds up to one of eight sizes per doubling, so that batches of slightly different size can use
// the same memory.
constexpr uint64_t tensor_room_bytes(uint64_t value_bytes) {
  const uint64_t bytes = value_bytes + kTensorHeaderBytes;
  const uint64_t step = std::max<uint64_t>(1, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace plimsoll::nn
