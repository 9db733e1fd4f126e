// A graph of a few nodes in memory, as a store would give it, and the same for a dense model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "feature/rows.h"
#include "kernel/kernels.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "nn/dense_model.h"
#include "sample/topology.h"

namespace plimsoll::train {

class SmallGraph {
 public:
  explicit SmallGraph(int64_t nodes = 60, int64_t columns = 7)
      : lists_(nn::random_lists(nodes, nodes, random_)),
        x_(nn::random_normal({nodes, columns}, random_)),
        topology_(make_topology()) {
    constexpr uint64_t kPadding = 20;
    const uint64_t value_bytes = static_cast<uint64_t>(columns) * sizeof(float);
    rows_ = {.row_bytes = value_bytes + kPadding,
             .count = static_cast<uint64_t>(nodes),
             .columns = static_cast<uint32_t>(columns)};
    bytes_ = {ledger_, "rows", rows_.count * rows_.row_bytes};
    for (uint64_t i = 0; i < rows_.count; ++i)
      std::memcpy(&bytes_[i * rows_.row_bytes], x_[static_cast<int64_t>(i)].data_ptr<float>(),
                  value_bytes);
    rows_.data = bytes_.data();
    source_.emplace(rows_);
  }

  memory::Ledger& ledger() { return ledger_; }
  const sample::Topology& topology() const { return topology_; }
  const feature::RowSource& rows() const { return *source_; }
  const at::Tensor& x() const { return x_; }

  // All nodes from all nodes, weighed as the model's layers weigh their lists.
  nn::BlockTensors block(recipe::ModelKind kind) const {
    nn::BlockTensors block = nn::block_of(lists_, static_cast<int64_t>(lists_.size()));
    std::vector<float> scales;
    for (const auto& list : lists_) {
      const auto degree = static_cast<float>(list.size());
      const float mean = degree == 0 ? 0 : 1 / degree;
      scales.push_back(kind == recipe::ModelKind::gcn ? 1 / std::sqrt(degree + 1) : mean);
    }
    block.destination_scale = nn::floats(scales);
    if (kind != recipe::ModelKind::gcn) return block;
    block.source_scale = block.destination_scale;
    block.self_scale = block.destination_scale.square();
    return block;
  }

  // What the model says of every node.
  nn::DenseOutputs dense_outputs(const nn::Model& model) const {
    const nn::ModelShape& shape = model.shape();
    const std::vector<nn::BlockTensors> blocks(shape.layers, block(shape.kind));
    return nn::dense_forward(shape, nn::doubles_of(model.state()), {.x = x_, .blocks = blocks});
  }

 private:
  sample::Topology make_topology() {
    std::vector<uint64_t> ends = {0};
    std::vector<uint32_t> all;
    for (const auto& list : lists_) {
      all.insert(all.end(), list.begin(), list.end());
      ends.push_back(all.size());
    }
    memory::Pages offsets(ledger_, "topology", ends.size() * sizeof(uint64_t));
    std::copy(ends.begin(), ends.end(), static_cast<uint64_t*>(offsets.data()));
    memory::Pages neighbors(ledger_, "topology", all.size() * sizeof(uint32_t));
    std::copy(all.begin(), all.end(), static_cast<uint32_t*>(neighbors.data()));
    return {std::move(offsets), std::move(neighbors), lists_.size(), all.size()};
  }

  std::mt19937 random_{17};
  memory::Ledger ledger_{kGiB};
  nn::Adjacency lists_;
  at::Tensor x_;
  sample::Topology topology_;
  memory::Buffer<unsigned char> bytes_;
  kernel::Rows rows_;
  std::optional<feature::RowSource> source_;
};

}  // namespace plimsoll::train
