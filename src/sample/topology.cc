#include "sample/topology.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "io/load.h"

namespace plimsoll::sample {
namespace {

[[noreturn]] void fail_damaged(const graph::Store& store, const std::string& file,
                               const std::string& what) {
  fail(ErrorKind::store, "{}: {}; the file is damaged: see inspect --verify, then import again",
       store.file(file).string(), what);
}

void check_offsets(const graph::Store& store, std::span<const uint64_t> offsets) {
  const auto falling = std::adjacent_find(offsets.begin(), offsets.end(), std::greater<>());
  if (falling != offsets.end()) {
    fail_damaged(store, "offsets.u64",
                 fmt::format("list {} ends before it begins", falling - offsets.begin()));
  }
  if (offsets.front() != 0 || offsets.back() != store.meta().edges) {
    fail_damaged(store, "offsets.u64",
                 fmt::format("the lists go from {} to {}, 0 to {} expected", offsets.front(),
                             offsets.back(), store.meta().edges));
  }
}

}  // namespace

Topology load_topology(const graph::Store& store, memory::Ledger& ledger, unsigned threads,
                       const std::function<void(uint64_t bytes)>& on_bytes) {
  const graph::Meta& meta = store.meta();
  auto offsets = io::load_array<uint64_t>(
      ledger, "graph", store.file("offsets.u64"), meta.nodes + 1, threads,
      [&](std::span<const uint64_t> piece) { on_bytes(piece.size_bytes()); });
  check_offsets(store, offsets.span());
  auto neighbors = io::load_array<uint32_t>(
      ledger, "graph", store.file("neighbors.u32"), meta.edges, threads,
      [&](std::span<const uint32_t> piece) {
        const uint32_t highest = *std::max_element(piece.begin(), piece.end());
        if (highest >= meta.nodes) {
          fail_damaged(store, "neighbors.u32",
                       fmt::format("neighbour {} of a graph of {} nodes", highest, meta.nodes));
        }
        on_bytes(piece.size_bytes());
      });
  return {std::move(offsets), std::move(neighbors)};
}

}  // namespace plimsoll::sample
