// A neighbourhood's values, to keep and to compare.
#pragma once

#include <cstdint>
#include <vector>

#include "sample/sampler.h"

namespace plimsoll::sample {

struct Drawn {
  uint32_t seeds = 0;
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> degrees;  // of the nodes that have one
  struct Block {
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> indices;
    bool operator==(const Block&) const = default;
  };
  std::vector<Block> hops;
  bool operator==(const Drawn&) const = default;
};

inline Drawn copy_of(const Neighborhood& neighborhood, bool all_degrees = false) {
  Drawn drawn{.seeds = neighborhood.seeds};
  const auto nodes = neighborhood.nodes.first(neighborhood.node_count());
  drawn.nodes.assign(nodes.begin(), nodes.end());
  for (const Hop& hop : neighborhood.hops) {
    const auto offsets = hop.offsets.first(uint64_t{hop.destinations} + 1);
    const auto indices = hop.indices.first(hop.edges());
    drawn.hops.push_back({{offsets.begin(), offsets.end()}, {indices.begin(), indices.end()}});
  }
  const uint32_t inner = neighborhood.hops.empty() ? 0 : neighborhood.hops.back().destinations;
  const auto degrees = neighborhood.degrees.first(all_degrees ? neighborhood.node_count() : inner);
  drawn.degrees.assign(degrees.begin(), degrees.end());
  return drawn;
}

inline std::vector<uint32_t> every(uint32_t step, uint32_t first, uint32_t below_node) {
  std::vector<uint32_t> seeds;
  for (uint32_t node = first; node < below_node; node += step) seeds.push_back(node);
  return seeds;
}

}  // namespace plimsoll::sample
