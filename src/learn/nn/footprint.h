// How much memory a model takes, counted tensor by tensor as model.cc, layer.cc and attention.cc
// allocate them on a CPU. For large batches it is the second largest part of a plan. Does not need
// torch, because plans are made before torch is loaded.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "recipe/recipe.h"
#include "sample/sampler.h"

namespace plimsoll::nn {

// The memory of one tensor. Our allocator for torch uses the same function
// (train/tensor_memory.cc). It rounds up to one of eight sizes per doubling, so that batches of
// slightly different size can use the same memory.
inline constexpr uint64_t kTensorHeaderBytes = 128;
constexpr uint64_t tensor_room_bytes(uint64_t value_bytes) {
  const uint64_t bytes = value_bytes + kTensorHeaderBytes;
  const uint64_t step = std::max<uint64_t>(1, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

struct Dimensions {
  recipe::ModelKind kind = recipe::ModelKind::gcn;
  uint64_t inputs = 0;
  uint64_t hidden = 0;
  uint64_t classes = 0;
  uint64_t layers = 0;
  uint64_t heads = 1;
  bool batch_norm = false;
};

uint64_t parameter_count(const Dimensions& model);
// All parameters as one flat tensor.
uint64_t parameter_bytes(const Dimensions& model);
inline constexpr uint64_t kAdamArrays = 2;  // of that size: nn::Adam's mean and square
// The model's values, its gradients and Adam's two averages, one flat tensor each.
uint64_t model_bytes(const Dimensions& model);

// The peak while one batch goes forward and backward.
uint64_t activation_bytes(const Dimensions& model, const sample::BatchSize& batch);
// The peak while one batch goes forward only, in an evaluation.
uint64_t inference_bytes(const Dimensions& model, const sample::BatchSize& batch);
// The peak while one layer goes forward for a batch with a single hop.
uint64_t layer_bytes(const Dimensions& model, size_t layer, const sample::BatchSize& batch);

}  // namespace plimsoll::nn
