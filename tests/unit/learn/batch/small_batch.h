// A small graph with rows to make batches of, a batch's values to keep and compare, and what any
// block promises.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "batch/batch.h"
#include "feature/rows.h"
#include "kernel/kernels.h"
#include "memory/ledger.h"
#include "sample/sampler.h"
#include "sample/small_graph.h"
#include "sample/topology.h"

namespace plimsoll::batch {

constexpr uint32_t kAll = UINT32_MAX;

// What the three models ask for.
constexpr Assembly kGcn = {Input::aggregated, Weighting::gcn_full, true};
constexpr Assembly kGcnSampled = {Input::aggregated, Weighting::gcn_sampled, true};
constexpr Assembly kSage = {Input::aggregated_and_own, Weighting::mean, true};
constexpr Assembly kGat = {Input::rows, Weighting::none, true};

// Single-precision rows, so that tests can say what a value should be.
class SmallData {
 public:
  explicit SmallData(sample::Lists graph, uint32_t columns = 5)
      : lists(std::move(graph)),
        topology(sample::topology_of(lists, ledger)),
        values_(lists.size() * columns),
        columns_(columns) {
    for (uint64_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>(unit_interval(RandomStream(11, 0).at(i)) - 0.5);
    }
    source_.emplace(rows());
  }

  kernel::Rows rows() const {
    return {.data = reinterpret_cast<const unsigned char*>(values_.data()),
            .row_bytes = columns_ * sizeof(float),
            .count = lists.size(),
            .columns = columns_};
  }
  const feature::RowSource& source() const { return *source_; }
  uint32_t columns() const { return columns_; }
  float value(uint32_t node, uint32_t column) const {
    return values_[uint64_t{node} * columns_ + column];
  }

  const sample::Lists lists;
  memory::Ledger ledger{kGiB};
  const sample::Topology topology;

 private:
  std::vector<float> values_;
  uint32_t columns_;
  std::optional<feature::RowSource> source_;
};

inline sample::SamplerOptions sampler_options(const std::vector<uint32_t>& fanout,
                                              const Assembly& assembly) {
  return {.fanout = fanout, .all_degrees = assembly.weighting == Weighting::gcn_full};
}

// One batch and the memory it lies in.
struct MadeBatch {
  MadeBatch(SmallData& data, const std::vector<uint32_t>& fanout, const Assembly& assembly,
            const std::vector<uint32_t>& seeds, uint64_t key)
      : assembler(data.ledger, fanout.size(), {}) {
    sample::Sampler(data.topology, sampler_options(fanout, assembly), data.ledger)
        .sample(seeds, key, assembler.neighborhood());
    assembler.prepare(assembly, data.columns());
    assembler.fill(data.rows(), assembler.batch().nodes.data());
    assembler.batch().whole = assembler.batch().seeds;
  }
  const Batch& batch() { return assembler.batch(); }
  const std::vector<sample::Hop>& hops() { return assembler.neighborhood().hops; }

  Assembler assembler;
};

template <typename T>
std::vector<uint32_t> bits_of(std::span<const T> values) {
  std::vector<uint32_t> bits;
  for (const T value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}
inline std::vector<uint32_t> bits_of(const Matrix& matrix) {
  return bits_of(std::span(matrix.data, matrix.rows * matrix.columns));
}

// Every array of a batch, numbers with fractions as their bits.
struct BatchCopy {
  explicit BatchCopy(const Batch& batch)
      : index(batch.index),
        first_seed(batch.first_seed),
        before(batch.before),
        whole(batch.whole),
        seeds(batch.seeds) {
    arrays = {bits_of(batch.nodes), bits_of(batch.labels), bits_of(batch.input),
              bits_of(batch.own)};
    for (const Block& block : batch.blocks) {
      arrays.push_back({block.destinations, block.sources});
      for (const auto& array : {block.offsets, block.indices, block.source_offsets, block.by_source,
                                block.source_edges}) {
        arrays.push_back(bits_of(array));
      }
      for (const auto& array : {block.destination_scale, block.source_scale, block.self_scale}) {
        arrays.push_back(bits_of(array));
      }
    }
  }
  bool operator==(const BatchCopy&) const = default;

  uint64_t index;
  uint64_t first_seed;
  uint32_t before;
  uint32_t whole;
  uint32_t seeds;
  std::vector<std::vector<uint32_t>> arrays;
};

// Each edge stands once at its source, in order.
inline void expect_edges_by_source(const Block& block) {
  ASSERT_EQ(block.source_offsets.size(), uint64_t{block.sources} + 1);
  ASSERT_EQ(block.by_source.size(), block.indices.size());
  ASSERT_EQ(block.source_edges.size(), block.indices.size());
  ASSERT_EQ(block.source_offsets.front(), 0U);
  ASSERT_EQ(block.source_offsets.back(), block.indices.size());
  std::vector<bool> seen(block.indices.size());
  for (uint32_t source = 0; source < block.sources; ++source) {
    ASSERT_LE(block.source_offsets[source], block.source_offsets[source + 1]);
    for (uint32_t k = block.source_offsets[source]; k < block.source_offsets[source + 1]; ++k) {
      const uint32_t edge = block.source_edges[k];
      const uint32_t destination = block.by_source[k];
      ASSERT_LT(edge, block.indices.size());
      ASSERT_FALSE(seen[edge]);
      seen[edge] = true;
      EXPECT_EQ(block.indices[edge], source);
      ASSERT_LT(destination, block.destinations);
      EXPECT_LE(block.offsets[destination], edge);
      EXPECT_LT(edge, block.offsets[destination + 1]);
      if (k == block.source_offsets[source]) continue;
      EXPECT_LT(block.source_edges[k - 1], edge);
      EXPECT_LE(block.by_source[k - 1], destination);
    }
  }
}

inline std::vector<uint32_t> every(uint32_t step, uint32_t first, uint32_t end) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = first; node < end; node += step) nodes.push_back(node);
  return nodes;
}

}  // namespace plimsoll::batch
