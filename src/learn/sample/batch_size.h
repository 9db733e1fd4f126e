// The size of a batch before it is made. The memory needs of everything that holds a batch are
// computed from it.
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
  uint64_t nodes = 0;         // distinct nodes
  std::vector<HopSize> hops;  // hops[0] ends at the seeds

  // How many nodes have their neighbours sampled. These are the first nodes of the batch.
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
