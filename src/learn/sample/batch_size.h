// How large a batch is, before it is made: what the byte counts of everything that holds one begin
// with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll::sample {

struct HopSize {
  uint64_t destinations = 0;
  uint64_t edges = 0;
};

struct BatchSize {
  uint64_t seeds = 0;
  uint64_t nodes = 0;         // all different ones
  std::vector<HopSize> hops;  // the seeds' first

  // Nodes whose neighbours are drawn: the first of them.
  uint64_t expanded() const {
    uint64_t count = 0;
    for (const HopSize& hop : hops) count = hop.edges > 0 ? hop.destinations : count;
    return count;
  }
  uint64_t sources(size_t hop) const {
    return hop + 1 < hops.size() ? hops[hop + 1].destinations : nodes;
  }
  uint64_t most_edges() const {
    uint64_t most = 0;
    for (const HopSize& hop : hops) most = std::max(most, hop.edges);
    return most;
  }
};

}  // namespace plimsoll::sample
