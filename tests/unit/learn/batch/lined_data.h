// A graph with rows in a file, to be read with the line anywhere, and the same rows in memory to
// compare with.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/random.h"
#include "base/units.h"
#include "feature/rows.h"
#include "graph/meta.h"
#include "graph/store.h"
#include "kernel/kernels.h"
#include "memory/ledger.h"
#include "sample/small_graph.h"
#include "sample/topology.h"
#include "temp_folder.h"

namespace plimsoll::batch {

class LinedData {
 public:
  LinedData(sample::Lists graph, uint32_t columns, bool half)
      : lists(std::move(graph)), topology(sample::topology_of(lists, ledger)) {
    const auto type = half ? graph::FeatureType::f16 : graph::FeatureType::f32;
    shape_ = {.row_bytes = graph::padded_row_bytes(type, columns),
              .count = lists.size(),
              .columns = columns,
              .half = half};
    bytes_.assign(shape_.count * shape_.row_bytes, '\x7f');  // padding that would show
    std::vector<float> values(columns);
    std::vector<uint16_t> halves(columns);
    for (uint64_t row = 0; row < shape_.count; ++row) {
      const RandomStream random(columns, row);
      for (uint32_t i = 0; i < columns; ++i) {
        values[i] = static_cast<float>(unit_interval(random.at(i)) - 0.5);
      }
      to_half(values, halves);
      const void* from = half ? static_cast<const void*>(halves.data()) : values.data();
      std::memcpy(&bytes_[row * shape_.row_bytes], from, columns * (half ? 2 : 4));
    }
    write_file();
    shape_.data = reinterpret_cast<const unsigned char*>(bytes_.data());
  }

  // In memory.
  const kernel::Rows& rows() const { return shape_; }
  std::filesystem::path file() const { return folder_ / "rows"; }
  uint64_t file_bytes() const { return bytes_.size(); }

  // Again, if it was damaged.
  void write_file() const { plimsoll::write_file(file(), bytes_); }

  struct Place {
    uint64_t line_bytes = 0;
    uint64_t area_bytes = 0;
    unsigned areas = 1;
    unsigned windows = 0;
    uint64_t window_bytes = 0;
  };
  feature::RowSource source(const Place& place, memory::Ledger& of) const {
    feature::RowSource source({.path = file(),
                               .shape = shape_,
                               .areas = place.areas,
                               .area_bytes = place.area_bytes,
                               .windows = place.windows,
                               .window_bytes = place.window_bytes},
                              of);
    source.file().raise(place.line_bytes, 1, [](std::span<const std::byte>) {});
    return source;
  }
  feature::RowSource source(const Place& place) { return source(place, ledger); }

  const sample::Lists lists;
  memory::Ledger ledger{kGiB};
  const sample::Topology topology;

 private:
  TempFolder folder_;
  std::string bytes_;
  feature::RowShape shape_;
};

// The graph's lists in a store, to be read with lines, and every `seed_step`th node as a seed.
class LinedStore {
 public:
  LinedStore(LinedData& data, uint32_t seed_step) : data_(data) {
    sample::write_store(folder(), {.lists = data.lists});
    for (uint32_t node = 0; node < data.lists.size(); node += seed_step) {
      seeds.push_back(node);
      labels.push_back(static_cast<int32_t>(node % 7));
    }
  }
  std::filesystem::path folder() const { return place_ / "store"; }
  sample::Topology lists_with(const sample::TopologyLines& lines) {
    return sample::load_topology(graph::open(folder()), data_.ledger, lines, 1, [](uint64_t) {});
  }

  std::vector<uint32_t> seeds;
  std::vector<int32_t> labels;

 private:
  LinedData& data_;
  TempFolder place_;
};

// Short lists of at most `most` neighbours, but for node 0's.
inline sample::Lists lists_with_a_hub(uint32_t nodes, uint32_t hub_degree, uint32_t most = 8) {
  sample::Lists lists = sample::random_lists(nodes, most, nodes);
  lists[0].clear();
  for (uint32_t i = 0; i < hub_degree; ++i) lists[0].push_back(1 + i * ((nodes - 1) / hub_degree));
  return lists;
}

}  // namespace plimsoll::batch
