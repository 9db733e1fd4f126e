#include "sample/topology.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/error.h"

namespace plimsoll::sample {
namespace {

constexpr uint64_t kAhead = 32;  // how many list bounds ahead to prefetch

[[noreturn]] void fail_damaged(const std::string& path, const std::string& what) {
  fail(ErrorKind::store, "{}: {}; the file is damaged: see inspect --verify, then import again",
       path, what);
}

}  // namespace

void OffsetsCheck::add(std::span<const uint64_t> piece) {
  if (piece.empty()) return;
  if (count_ == 0) first_ = last_ = piece.front();
  const auto falling = std::adjacent_find(piece.begin(), piece.end(), std::greater<>());
  if (piece.front() < last_ || falling != piece.end()) {
    const uint64_t list = piece.front() < last_ ? count_ - 1 : count_ + (falling - piece.begin());
    fail_damaged(path_, fmt::format("list {} ends before it begins", list));
  }
  last_ = piece.back();
  count_ += piece.size();
}

void OffsetsCheck::finish(bool whole) const {
  if (count_ == 0) return;
  if (first_ != 0 || last_ > edges_ || (whole && last_ != edges_)) {
    fail_damaged(
        path_, fmt::format("the lists go from {} to {}, 0 to {} expected", first_, last_, edges_));
  }
}

void check_neighbors(const std::string& path, std::span<const uint32_t> values, uint64_t nodes) {
  if (values.empty()) return;
  const uint32_t highest = *std::max_element(values.begin(), values.end());
  if (highest >= nodes) {
    fail_damaged(path, fmt::format("neighbour {} of a graph of {} nodes", highest, nodes));
  }
}

Topology::Topology(memory::Pages offsets, memory::Pages neighbors, uint64_t nodes, uint64_t edges)
    : offsets_(std::make_unique<io::LinedFile>(std::move(offsets), (nodes + 1) * sizeof(uint64_t))),
      neighbors_(std::make_unique<io::LinedFile>(std::move(neighbors), edges * sizeof(uint32_t))),
      nodes_(nodes),
      edges_(edges) {}

Topology::Topology(const graph::Store& store, memory::Ledger& ledger)
    : nodes_(store.meta().nodes), edges_(store.meta().edges) {
  const auto lined = [&](const std::string& file, uint64_t bytes) {
    return std::make_unique<io::LinedFile>(ledger, "graph", store.file(file),
                                           io::LinedFile::Shape{.bytes = bytes});
  };
  offsets_ = lined("offsets.u64", (nodes_ + 1) * sizeof(uint64_t));
  neighbors_ = lined("neighbors.u32", edges_ * sizeof(uint32_t));
}

ListReader::ListReader(const Topology& topology, memory::Ledger& ledger,
                       const io::ReadOptions& options)
    : topology_(topology), reader_(ledger, options) {
  const io::LinedFile::Use use(topology.neighbors());
  prefetched_ = reinterpret_cast<const uint32_t*>(use.data);
}

uint64_t find_resident_bounds(const Topology& topology, std::span<const uint32_t> nodes,
                              ListBounds* out) {
  const io::LinedFile::Use use(topology.offsets());
  const auto* offsets = reinterpret_cast<const uint64_t*>(use.data);
  const uint64_t resident = use.line_bytes / sizeof(uint64_t);
  uint64_t missing = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kAhead < nodes.size()) __builtin_prefetch(offsets + nodes[i + kAhead]);
    const uint64_t node = nodes[i];
    if (node + 1 < resident) {
      out[i] = {offsets[node], offsets[node + 1] - offsets[node]};
    } else {
      out[i].begin = kNotResident;
      ++missing;
    }
  }
  return missing;
}

ListBounds checked_bounds(const Topology& topology, uint64_t node,
                          const std::array<uint64_t, 2>& ends) {
  if (ends[0] > ends[1] || ends[1] > topology.edges()) {
    fail_damaged(
        topology.offsets().file().file.path,
        fmt::format("list {} goes from {} to {} of {}", node, ends[0], ends[1], topology.edges()));
  }
  return {ends[0], ends[1] - ends[0]};
}

uint32_t checked_neighbor(const Topology& topology, uint32_t neighbor) {
  if (neighbor >= topology.nodes()) {
    check_neighbors(topology.neighbors().file().file.path, {&neighbor, 1}, topology.nodes());
  }
  return neighbor;
}

// Entries that are not resident are read afterwards: reading takes leases, which a thread must not
// do while it holds a Use.
void ListReader::bounds(std::span<const uint32_t> nodes, ListBounds* out) {
  const uint64_t missing = find_resident_bounds(topology_, nodes, out);
  if (missing == 0) return;
  reader_.expect(missing);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (out[i].begin == kNotResident) reader_.want(nodes[i] * sizeof(uint64_t), i);
  }
  reader_.read(topology_.offsets().file(), 2 * sizeof(uint64_t),
               [&](uint64_t i, const std::byte* value) {
                 std::array<uint64_t, 2> ends = {};
                 std::memcpy(ends.data(), value, sizeof ends);
                 out[i] = checked_bounds(topology_, nodes[i], ends);
               });
}

void ListReader::neighbors(std::span<const uint64_t> places, uint32_t* out) {
  const io::LinedFile& file = topology_.neighbors();
  uint64_t missing = 0;
  {
    const io::LinedFile::Use use(file);
    const auto* values = reinterpret_cast<const uint32_t*>(use.data);
    const uint64_t resident = use.line_bytes / sizeof(uint32_t);
    for (size_t i = 0; i < places.size(); ++i) {
      const bool here = places[i] < resident;
      out[i] = here ? values[places[i]] : UINT32_MAX;  // never a node: a store has fewer nodes
      missing += here ? 0 : 1;
    }
  }
  if (missing == 0) return;
  reader_.expect(missing);
  for (size_t i = 0; i < places.size(); ++i) {
    if (out[i] == UINT32_MAX) reader_.want(places[i] * sizeof(uint32_t), i);
  }
  reader_.read(file.file(), sizeof(uint32_t), [&](uint64_t i, const std::byte* value) {
    uint32_t neighbor = 0;
    std::memcpy(&neighbor, value, sizeof neighbor);
    out[i] = checked_neighbor(topology_, neighbor);
  });
}

Topology load_topology(const graph::Store& store, memory::Ledger& ledger,
                       const TopologyLines& lines, unsigned threads,
                       const std::function<void(uint64_t bytes)>& on_bytes) {
  const graph::Meta& meta = store.meta();
  Topology topology(store, ledger);
  if (lines.shared) {
    topology.offsets().share(lines.offsets_bytes);
    topology.neighbors().share(lines.neighbors_bytes);
  }
  topology.offsets().raise(lines.offsets_bytes, threads,
                           [&](std::span<const std::byte> piece) { on_bytes(piece.size()); });
  {
    const io::LinedFile::Use use(topology.offsets());
    OffsetsCheck check(store.file("offsets.u64").string(), meta.edges);
    check.add({reinterpret_cast<const uint64_t*>(use.data), use.line_bytes / sizeof(uint64_t)});
    check.finish(topology.offsets().resident());
  }
  topology.neighbors().raise(lines.neighbors_bytes, threads, [&](std::span<const std::byte> piece) {
    check_neighbors(
        store.file("neighbors.u32").string(),
        {reinterpret_cast<const uint32_t*>(piece.data()), piece.size() / sizeof(uint32_t)},
        meta.nodes);
    on_bytes(piece.size());
  });
  return topology;
}

}  // namespace plimsoll::sample
