#include "batch/needed_nodes.h"

#include <algorithm>

#include "base/interrupt.h"
#include "memory/growing.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kNodesAtOnce = 8192;
constexpr uint64_t kPlacesAtOnce = 1 << 18;
constexpr const char* kTag = "node sets";

// Adds in-neighbours to sets. Reuses its arrays.
class Marker {
 public:
  Marker(const sample::Topology& topology, memory::Ledger& ledger)
      : lists_(topology, ledger, {}),
        nodes_(ledger, kTag, kNodesAtOnce),
        bounds_(ledger, kTag, kNodesAtOnce),
        places_(ledger, kTag, std::min(kPlacesAtOnce, topology.edges())),
        found_(ledger, kTag, std::min(kPlacesAtOnce, topology.edges())) {}

  static uint64_t bytes_needed(uint64_t edges, bool reads_disk) {
    const uint64_t places = std::min(kPlacesAtOnce, edges);
    return memory::Buffer<uint32_t>::bytes_needed(kNodesAtOnce) +
           memory::Buffer<sample::ListBounds>::bytes_needed(kNodesAtOnce) +
           memory::Buffer<uint64_t>::bytes_needed(places) +
           memory::Buffer<uint32_t>::bytes_needed(places) +
           (reads_disk ? io::ScatteredReader::bytes_needed({}, std::max(places, kNodesAtOnce)) : 0);
  }

  // Adds the seeds and their in-neighbours.
  void add(const Seeds& seeds, memory::IndexSet& set) {
    for (uint64_t first = 0; first < seeds.size(); first += kNodesAtOnce) {
      const uint64_t count = std::min(kNodesAtOnce, seeds.size() - first);
      for (uint64_t i = 0; i < count; ++i) {
        nodes_[i] = seeds.node(seeds.place(first + i));
        set.add(nodes_[i]);
      }
      add_neighbors(count, set);
      throw_if_interrupted();
    }
  }

 private:
  void add_neighbors(uint64_t node_count, memory::IndexSet& set) {
    lists_.bounds(nodes_.first(node_count), bounds_.data());
    uint64_t count = 0;
    for (uint64_t i = 0; i < node_count; ++i) {
      for (uint64_t done = 0; done < bounds_[i].degree; ++done) {
        places_[count++] = bounds_[i].begin + done;
        if (count < places_.size()) continue;
        add_places(count, set);
        count = 0;
      }
    }
    add_places(count, set);
  }

  void add_places(uint64_t count, memory::IndexSet& set) {
    lists_.neighbors(places_.first(count), found_.data());
    for (uint64_t i = 0; i < count; ++i) set.add(found_[i]);
  }

  sample::ListReader lists_;
  memory::Buffer<uint32_t> nodes_;
  memory::Buffer<sample::ListBounds> bounds_;
  memory::Buffer<uint64_t> places_;
  memory::Buffer<uint32_t> found_;
};

}  // namespace

std::vector<memory::IndexSet> needed_nodes(std::span<const Seeds> asked, size_t layers,
                                           const sample::Topology& topology,
                                           memory::Ledger& ledger) {
  std::vector<memory::IndexSet> sets;
  if (layers == 0) return sets;
  for (size_t i = 0; i < layers; ++i) sets.emplace_back(ledger, topology.nodes());
  Marker marker(topology, ledger);
  for (const Seeds& seeds : asked) marker.add(seeds, sets.back());
  sets.back().count();
  for (size_t i = layers - 1; i-- > 0;) {
    marker.add(Seeds::members(sets[i + 1]), sets[i]);
    sets[i].count();
  }
  return sets;
}

uint64_t node_sets_bytes(uint64_t nodes, size_t layers) {
  return layers * memory::IndexSet::bytes_needed(nodes);
}

uint64_t marking_bytes(uint64_t edges, bool reads_disk) {
  return Marker::bytes_needed(edges, reads_disk);
}

}  // namespace plimsoll::batch
