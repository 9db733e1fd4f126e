// Blocks small enough to read, dense matrices to hold against them, and PyG's own numbers.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "nn/operations.h"

namespace plimsoll::nn {

using Adjacency = std::vector<std::vector<int32_t>>;

template <typename T>
at::Tensor tensor_of(const std::vector<T>& values, at::ScalarType type) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, type);
  std::copy(values.begin(), values.end(), tensor.data_ptr<T>());
  return tensor;
}

inline at::Tensor ints(const std::vector<int32_t>& values) { return tensor_of(values, at::kInt); }
inline at::Tensor floats(const std::vector<float>& values) { return tensor_of(values, at::kFloat); }

// Without scales.
inline BlockTensors block_of(const Adjacency& lists, int64_t sources) {
  std::vector<int32_t> offsets = {0}, indices, source_offsets = {0}, by_source, source_edges;
  for (const auto& list : lists) {
    indices.insert(indices.end(), list.begin(), list.end());
    offsets.push_back(static_cast<int32_t>(indices.size()));
  }
  for (int32_t j = 0; j < sources; ++j) {
    for (int32_t i = 0; i < static_cast<int32_t>(lists.size()); ++i) {
      for (int32_t e = offsets[i]; e < offsets[i + 1]; ++e) {
        if (indices[e] != j) continue;
        by_source.push_back(i);
        source_edges.push_back(e);
      }
    }
    source_offsets.push_back(static_cast<int32_t>(by_source.size()));
  }
  BlockTensors block;
  block.destinations = static_cast<int64_t>(lists.size());
  block.sources = sources;
  block.offsets = ints(offsets);
  block.indices = ints(indices);
  block.source_offsets = ints(source_offsets);
  block.by_source = ints(by_source);
  block.source_edges = ints(source_edges);
  return block;
}

// Every third list is empty; the others are of up to nine sources, some of them twice.
inline Adjacency random_lists(int64_t destinations, int64_t sources, std::mt19937& random) {
  Adjacency lists;
  std::uniform_int_distribution<int32_t> any_source(0, static_cast<int32_t>(sources) - 1);
  std::uniform_int_distribution<int> any_length(1, 8);
  for (int32_t i = 0; i < destinations; ++i) {
    std::vector<int32_t> list;
    for (int left = i % 3 == 0 ? 0 : any_length(random); left > 0; --left) {
      const int32_t source = any_source(random);
      if (source != i) list.push_back(source);
    }
    if (!list.empty()) list.push_back(list.front());
    lists.push_back(list);
  }
  return lists;
}

inline at::Tensor random_normal(at::IntArrayRef sizes, std::mt19937& random) {
  at::Tensor tensor = at::empty(sizes, at::kFloat);
  std::normal_distribution<float> draw;
  std::generate_n(tensor.data_ptr<float>(), tensor.numel(), [&] { return draw(random); });
  return tensor;
}

// How often each source stands in each list; [destinations, sources], in double.
inline at::Tensor edge_counts(const BlockTensors& block) {
  at::Tensor counts = at::zeros({block.destinations, block.sources}, at::kDouble);
  auto* values = counts.data_ptr<double>();
  const auto* offsets = block.offsets.data_ptr<int32_t>();
  const auto* indices = block.indices.data_ptr<int32_t>();
  for (int64_t i = 0; i < block.destinations; ++i) {
    for (int32_t e = offsets[i]; e < offsets[i + 1]; ++e) ++values[i * block.sources + indices[e]];
  }
  return counts;
}

// What aggregate() multiplies with, as a matrix in double.
inline at::Tensor edge_weights(const BlockTensors& block) {
  at::Tensor weights = edge_counts(block);
  if (block.destination_scale.defined())
    weights = weights * block.destination_scale.to(at::kDouble).unsqueeze(1);
  if (block.source_scale.defined())
    weights = weights * block.source_scale.to(at::kDouble).unsqueeze(0);
  if (block.self_scale.defined()) weights.diagonal().add_(block.self_scale.to(at::kDouble));
  return weights;
}

inline double distance(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return a.numel() == 0 ? 0 : (a.cpu() - b.cpu()).abs().max().item<double>();
}

inline double scale_of(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

inline void expect_close(const at::Tensor& actual, const at::Tensor& expected, double scale,
                         const std::string& what) {
  EXPECT_LE(distance(actual, expected), 1e-5 * scale) << what;
}
inline void expect_close(const at::Tensor& actual, const at::Tensor& expected,
                         const std::string& what) {
  expect_close(actual, expected, scale_of(expected), what);
}

// ---- outputs and gradients of PyG's layers ----

inline std::filesystem::path golden_file() {
  const char* const given = std::getenv("PLIMSOLL_DATA");
  const std::filesystem::path repository = PLIMSOLL_SOURCE_DIR;
  const std::filesystem::path data = given != nullptr ? given : repository / "../shared/data";
  return data.lexically_normal() / "golden/pyg_layers.json";
}

template <typename Json>
void collect_floats(const Json& json, std::vector<float>& into) {
  if (!json.is_array()) return into.push_back(json.template get<float>());
  for (const auto& part : json) collect_floats(part, into);
}

template <typename Json>
at::Tensor read_floats(const Json& json) {
  std::vector<int64_t> sizes;
  const Json* level = &json;
  for (; level->is_array(); level = &level->front())
    sizes.push_back(static_cast<int64_t>(level->size()));
  std::vector<float> values;
  collect_floats(json, values);
  return floats(values).view(sizes);
}

template <typename Json>
Adjacency read_lists(const Json& golden) {
  Adjacency lists(golden.at("x").size());
  const Json& edges = golden.at("edge_index");
  for (size_t e = 0; e < edges.at(0).size(); ++e) {
    lists.at(edges.at(1).at(e).template get<size_t>())
        .push_back(edges.at(0).at(e).template get<int32_t>());
  }
  return lists;
}

}  // namespace plimsoll::nn
