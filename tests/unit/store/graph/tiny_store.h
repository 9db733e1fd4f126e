// A store of a few nodes, written for one test and removed with it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "graph/store.h"
#include "temp_folder.h"

namespace plimsoll::graph {

// What the files hold. The default: four nodes with in-degrees 2, 1, 0 and 1, two classes.
struct TinyGraph {
  std::vector<uint64_t> offsets = {0, 2, 3, 3, 4};
  std::vector<int32_t> labels = {0, 1, -1, 1};
  std::vector<float> hotness = {4, 3, 2, 1};
  uint64_t classes = 2;
  std::vector<uint32_t> train = {0};
  std::vector<uint32_t> neighbors = {};  // all 0 where there are none
};

// The shape that `graph` has, as yet without files.
inline Meta meta_of(const TinyGraph& graph) {
  Meta meta;
  meta.nodes = graph.labels.size();
  meta.edges = graph.offsets.back();
  meta.classes = graph.classes;
  for (const int32_t label : graph.labels) meta.labelled += label == -1 ? 0 : 1;
  meta.feature_columns = 3;
  meta.row_bytes = padded_row_bytes(meta.feature_type, meta.feature_columns);
  meta.split_sizes = {graph.train.size(), 0, 0};
  meta.source = {{"name", "tiny"}};
  return meta;
}

inline void write_store(const std::filesystem::path& folder, const TinyGraph& graph,
                        const Meta& meta) {
  memory::Ledger ledger(64 * kMiB);
  StoreWriter writer(folder, /*replace=*/false, ledger);
  const auto write = [&]<typename T>(const std::string& name, const std::vector<T>& values) {
    writer.open_file(name).append_values(std::span<const T>(values));
    writer.close_file();
  };
  write("offsets.u64", graph.offsets);
  write("neighbors.u32",
        graph.neighbors.empty() ? std::vector<uint32_t>(meta.edges) : graph.neighbors);
  write("features.f16", std::vector<std::byte>(meta.nodes * meta.row_bytes));
  write("labels.i32", graph.labels);
  write("split.train.u32", graph.train);
  write("split.valid.u32", std::vector<uint32_t>());
  write("split.test.u32", std::vector<uint32_t>());
  write("ids.u32", std::vector<uint32_t>(meta.nodes));
  write("hotness.f32", graph.hotness);
  writer.commit(meta);
}

inline void write_store(const std::filesystem::path& folder, const TinyGraph& graph) {
  write_store(folder, graph, meta_of(graph));
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace plimsoll::graph
