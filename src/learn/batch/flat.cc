#include "batch/flat.h"

#include <algorithm>

namespace plimsoll::batch {
namespace {

constexpr uint64_t kLookedAhead = 16;  // nodes whose id and label are loaded ahead

}  // namespace

FlatBatch::FlatBatch(memory::Ledger& ledger, memory::PageSource* source)
    : ids_(ledger, "batches", source),
      labels_(ledger, "batches", source),
      places_(ledger, "batches", source),
      ends_(ledger, "batches", source) {}

uint64_t FlatBatch::bytes_needed(const sample::BatchSize& size) {
  using Numbers = memory::Growing<int64_t>;
  uint64_t edges = 0;
  for (const sample::HopSize& hop : size.hops) edges += hop.edges;
  return 2 * Numbers::renewed_bytes(size.nodes) + Numbers::renewed_bytes(size.seeds) +
         Numbers::renewed_bytes(2 * edges);
}

void FlatBatch::fill(const sample::Neighborhood& from, const FlatTables& tables,
                     std::span<const int32_t> seed_labels,
                     const std::function<uint64_t(uint32_t)>& place) {
  nodes_ = from.node_count();
  seeds_ = from.seeds;
  label_count_ = tables.labels.empty() ? seed_labels.size() : nodes_;
  ids_.renew(nodes_);
  labels_.renew(label_count_);
  places_.renew(seeds_);
  const auto nodes = from.nodes.first(nodes_);
  for (uint64_t i = 0; i < nodes_; ++i) {
    const uint32_t ahead = nodes[std::min(i + kLookedAhead, nodes_ - 1)];
    if (!tables.ids.empty()) __builtin_prefetch(&tables.ids[ahead]);
    if (!tables.labels.empty()) __builtin_prefetch(&tables.labels[ahead]);
    ids_[i] = tables.ids.empty() ? nodes[i] : tables.ids[nodes[i]];
    if (!tables.labels.empty()) labels_[i] = tables.labels[nodes[i]];
  }
  if (tables.labels.empty()) std::ranges::copy(seed_labels, labels_.data());
  for (uint32_t i = 0; i < seeds_; ++i) places_[i] = static_cast<int64_t>(place(i));
  list_edges(from);
}

void FlatBatch::list_edges(const sample::Neighborhood& from) {
  hop_nodes_ = {from.seeds};
  hop_edges_.clear();
  edges_ = 0;
  for (const sample::Hop& hop : from.hops) {
    hop_nodes_.push_back(int64_t{hop.sources} - hop.destinations);
    hop_edges_.push_back(hop.edges());
    edges_ += hop.edges();
  }
  ends_.renew(2 * edges_);
  int64_t* source = ends_.data();
  int64_t* destination = ends_.data() + edges_;
  for (const sample::Hop& hop : from.hops) {
    source = std::ranges::copy(hop.indices.first(hop.edges()), source).out;
    for (uint32_t i = 0; i < hop.destinations; ++i) {
      destination = std::fill_n(destination, hop.degree(i), i);
    }
  }
}

}  // namespace plimsoll::batch
