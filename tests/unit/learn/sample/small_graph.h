// Small graphs as in-neighbour lists: resident, or as a store on disk.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "graph/meta.h"
#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "sample/topology.h"

namespace plimsoll::sample {

using Lists = std::vector<std::vector<uint32_t>>;

struct FlatLists {
  std::vector<uint64_t> offsets = {0};
  std::vector<uint32_t> neighbors;
};

inline FlatLists flatten(const Lists& lists) {
  FlatLists flat;
  for (const auto& list : lists) {
    flat.neighbors.insert(flat.neighbors.end(), list.begin(), list.end());
    flat.offsets.push_back(flat.neighbors.size());
  }
  return flat;
}

template <typename T>
memory::Pages pages_of(memory::Ledger& ledger, const std::vector<T>& values) {
  memory::Pages pages(ledger, "graph", values.size() * sizeof(T));
  std::copy(values.begin(), values.end(), static_cast<T*>(pages.data()));
  return pages;
}

inline Topology topology_of(const Lists& lists, memory::Ledger& ledger) {
  const FlatLists flat = flatten(lists);
  return {pages_of(ledger, flat.offsets), pages_of(ledger, flat.neighbors), lists.size(),
          flat.neighbors.size()};
}

// Ascending lists without doubles, of 0 to `most` neighbours; every seventh node has none, and
// node 0 all others.
inline Lists random_lists(uint32_t nodes, uint32_t most, uint64_t seed) {
  const RandomStream stream(seed, nodes);
  uint64_t draw = 0;
  Lists lists(nodes);
  for (uint32_t other = 1; other < nodes; ++other) lists[0].push_back(other);
  for (uint32_t node = 1; node < nodes; ++node) {
    if (node % 7 == 3) continue;
    std::set<uint32_t> list;
    const uint64_t wanted = below(stream.at(draw++), most + 1);
    for (uint64_t i = 0; i < wanted; ++i) {
      const auto neighbor = static_cast<uint32_t>(below(stream.at(draw++), nodes));
      if (neighbor != node) list.insert(neighbor);
    }
    lists[node].assign(list.begin(), list.end());
  }
  return lists;
}

// What a store's files hold. Labels default to class 0, features to a count.
struct SmallStore {
  Lists lists;
  std::vector<int32_t> labels;
  uint64_t classes = 3;
  std::array<std::vector<uint32_t>, 3> splits;  // train, valid, test
  graph::FeatureType feature_type = graph::FeatureType::f16;
  uint64_t feature_columns = 3;
  std::vector<std::byte> rows;  // with their padding
};

// The bytes of all rows with their padding: 0, 1, 2, ... modulo 251, so no two rows near each
// other are the same.
inline std::vector<std::byte> counted_rows(const SmallStore& store) {
  std::vector<std::byte> bytes(store.lists.size() *
                               padded_row_bytes(store.feature_type, store.feature_columns));
  for (uint64_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

inline void write_store(const std::filesystem::path& folder, const SmallStore& store) {
  const FlatLists flat = flatten(store.lists);
  std::vector<int32_t> labels = store.labels;
  labels.resize(store.lists.size(), 0);
  graph::Meta meta;
  meta.nodes = store.lists.size();
  meta.edges = flat.neighbors.size();
  meta.classes = store.classes;
  meta.labelled = static_cast<uint64_t>(
      std::ranges::count_if(labels, [](int32_t label) { return label >= 0; }));
  meta.feature_type = store.feature_type;
  meta.feature_columns = store.feature_columns;
  meta.row_bytes = padded_row_bytes(meta.feature_type, meta.feature_columns);
  for (size_t i = 0; i < 3; ++i) meta.split_sizes.at(i) = store.splits.at(i).size();
  meta.source = {{"name", "small"}};

  memory::Ledger ledger(64 * kMiB);
  graph::StoreWriter writer(folder, /*replace=*/false, ledger);
  const auto write = [&]<typename T>(const std::string& name, const std::vector<T>& values) {
    writer.open_file(name).append_values(std::span<const T>(values));
    writer.close_file();
  };
  write("offsets.u64", flat.offsets);
  write("neighbors.u32", flat.neighbors);
  write("features." + std::string(name(meta.feature_type)),
        store.rows.empty() ? counted_rows(store) : store.rows);
  write("labels.i32", labels);
  write("split.train.u32", store.splits[0]);
  write("split.valid.u32", store.splits[1]);
  write("split.test.u32", store.splits[2]);
  write("ids.u32", std::vector<uint32_t>(meta.nodes));
  write("hotness.f32", std::vector<float>(meta.nodes));
  writer.commit(meta);
}

// Damages a file: value number `index` becomes another.
template <typename T>
void overwrite(const std::filesystem::path& path, uint64_t index, T value) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(index * sizeof(T)));
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
  file.flush();
  ASSERT_TRUE(file) << "cannot write " << path;
}

}  // namespace plimsoll::sample
