// A small graph in memory as an InputGraph, and the plainest possible way to turn one into a
// store's arrays: what the external passes must agree with.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ingest/input_graph.h"

namespace plimsoll::ingest {

struct MemoryGraph {
  uint64_t nodes = 0;
  uint32_t columns = 1;
  std::vector<std::pair<uint32_t, uint32_t>> edges;  // source, destination
  std::vector<float> features;
  std::vector<int32_t> labels;  // empty: no labels
  std::vector<std::vector<uint32_t>> splits = {{}, {}, {}};
};

class MemoryInput final : public InputGraph {
 public:
  explicit MemoryInput(MemoryGraph graph) : graph_(std::move(graph)) {
    graph_.features.resize(graph_.nodes * graph_.columns);
    shape_ = {.nodes = graph_.nodes,
              .edges = graph_.edges.size(),
              .feature_columns = graph_.columns,
              .has_labels = !graph_.labels.empty()};
  }

  const Shape& shape() const override { return shape_; }
  size_t next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) override {
    const size_t begin = next_edge_.fetch_add(sources.size());
    if (begin >= graph_.edges.size()) return 0;
    const size_t count = std::min(sources.size(), graph_.edges.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      std::tie(sources[i], destinations[i]) = graph_.edges[begin + i];
    }
    return count;
  }
  Rows next_rows(std::span<float> values) override {
    const uint64_t fitting = std::min<uint64_t>(values.size() / graph_.columns, 3);
    const uint64_t begin = next_row_.fetch_add(fitting);
    if (begin >= graph_.nodes) return {};
    const uint64_t count = std::min(fitting, graph_.nodes - begin);
    std::copy_n(graph_.features.begin() + static_cast<ptrdiff_t>(begin * graph_.columns),
                count * graph_.columns, values.begin());
    return {begin, count};
  }
  void read_labels(const LabelSink& sink) override { sink(graph_.labels); }
  void read_splits(const SplitSink& sink) override {
    for (const SplitKind split : kSplits) {
      uint64_t row = 0;
      for (const uint32_t node : graph_.splits[static_cast<size_t>(split)])
        sink(split, row++, node);
    }
  }
  std::string place(InputPart part, uint64_t row) const override {
    static constexpr const char* kNames[] = {"edges", "features", "labels",
                                             "train", "valid",    "test"};
    return std::string(kNames[static_cast<int>(part)]) + ", row " + std::to_string(row);
  }

 private:
  MemoryGraph graph_;
  Shape shape_;
  std::atomic<size_t> next_edge_ = 0;
  std::atomic<uint64_t> next_row_ = 0;
};

// In-neighbour lists in the owner's numbering: self-loops gone; undirected adds reverses, drops
// doubles.
inline std::vector<std::vector<uint32_t>> reference_lists(const MemoryGraph& graph,
                                                          bool undirected) {
  std::vector<std::vector<uint32_t>> lists(graph.nodes);
  for (const auto& [from, to] : graph.edges) {
    if (from == to) continue;
    lists[to].push_back(from);
    if (undirected) lists[from].push_back(to);
  }
  for (auto& list : lists) {
    std::sort(list.begin(), list.end());
    if (undirected) list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

// The formula of ingest/passes.h, in doubles.
inline std::vector<double> reference_visits(const std::vector<std::vector<uint32_t>>& lists,
                                            const MemoryGraph& graph, int hops, double fanout) {
  std::vector<double> arriving(graph.nodes, 0);
  for (const auto& split : graph.splits) {
    for (const uint32_t node : split) arriving[node] = 1;
  }
  std::vector<double> visits = arriving;
  for (int hop = 0; hop < hops; ++hop) {
    std::vector<double> next(graph.nodes, 0);
    for (uint32_t node = 0; node < graph.nodes; ++node) {
      const double share = std::min(1.0, fanout / static_cast<double>(lists[node].size()));
      for (const uint32_t neighbor : lists[node]) next[neighbor] += arriving[node] * share;
    }
    for (uint32_t node = 0; node < graph.nodes; ++node) visits[node] += next[node];
    arriving = next;
  }
  return visits;
}

}  // namespace plimsoll::ingest
