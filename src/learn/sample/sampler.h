// Samples neighbourhoods, hop by hop from the seeds outwards: each hop draws up to `fanout`
// in-neighbours of every node met so far, uniformly and without replacement. If a list is not
// longer than the fan-out, the whole list is taken. With Expansion::once a hop draws only for the
// nodes that the hop before it met first; for these the draws are the same.
//
// Every draw is a hash of (key, hop, node, draw), so a neighbourhood depends only on its seeds and
// its key, not on threads or on earlier draws.
//
// LABOR (Draw::labor): every neighbour has one number, a hash of (key, hop, neighbour), and a node
// takes the neighbours with the smallest numbers. Each node still draws uniformly without
// replacement, but nodes with common neighbours prefer the same ones, so a batch has fewer distinct
// nodes. LABOR reads whole lists; lists longer than kMostLooked are sampled as above.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/growing.h"
#include "memory/ledger.h"
#include "recipe/recipe.h"
#include "sample/choose.h"
#include "sample/node_table.h"
#include "sample/topology.h"

namespace plimsoll::sample {

struct HopSize {
  uint64_t destinations = 0;
  uint64_t edges = 0;
};

// The size of a batch before it is made. The memory needs of everything that holds a batch are
// computed from it.
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

// One hop as a bipartite graph: destination i receives from the sources indices[offsets[i] ..
// offsets[i + 1]]. Destinations and sources are indices into Neighborhood::nodes; the first sources
// are the destinations.
struct Hop {
  uint32_t destinations = 0;
  uint32_t sources = 0;
  memory::Growing<uint32_t> offsets;
  memory::Growing<uint32_t> indices;

  uint32_t edges() const { return offsets[destinations]; }
  // No destination has sources but itself.
  void lead_nowhere(uint32_t count);
  uint32_t degree(uint32_t destination) const {
    return offsets[destination + 1] - offsets[destination];
  }
};

// The result of a Sampler. Keeps its memory from one batch to the next.
struct Neighborhood {
  Neighborhood(memory::Ledger& ledger, size_t hop_count, memory::PageSource* source = nullptr);
  static uint64_t bytes_needed(const BatchSize& size, bool all_degrees);

  uint32_t node_count() const { return hops.empty() ? seeds : hops.back().sources; }

  uint32_t seeds = 0;
  memory::Growing<uint32_t> nodes;  // positions in the store: seeds, then the new nodes of each hop
  // Degrees in the whole graph, of all nodes except the outermost; with
  // SamplerOptions::all_degrees, of all nodes.
  memory::Growing<uint32_t> degrees;
  std::vector<Hop> hops;  // hops[0] ends at the seeds
};

// Throws Error{input} if a hop has more edges than 32-bit numbers reach.
void check_edges(uint64_t edges);

// For which nodes a hop draws.
enum class Expansion {
  every_hop,  // all nodes met so far: each layer of a model has its own draws
  once        // each node in one hop only, as PyTorch Geometric does: all layers share one graph
};

struct SamplerOptions {
  std::vector<uint32_t> fanout;  // one entry per hop, the seeds' first; 0 = sample no neighbours
  Expansion expansion = Expansion::every_hop;
  bool all_degrees = false;  // also find the degrees of the outermost nodes
  recipe::Draw draw = recipe::Draw::uniform;
  io::ReadOptions reading;
};

// For one thread; the topology must outlive it.
class Sampler {
 public:
  Sampler(const Topology& topology, SamplerOptions options, memory::Ledger& ledger);

  // The memory it keeps after it has sampled a neighbourhood of that size. `looked_at` is how many
  // neighbours LABOR reads for its last hop.
  static uint64_t bytes_needed(const SamplerOptions& options, const BatchSize& size,
                               uint64_t looked_at, bool reads_disk);

  // The seeds must be distinct.
  void sample(std::span<const uint32_t> seeds, uint64_t key, Neighborhood& out);

  // Releases the memory that it keeps for the next neighbourhood.
  void release();

  io::ReadQueue& queue() { return lists_.reader().queue(); }
  io::ReadQueue::Counts counts() { return lists_.reader().counts(); }

 private:
  void find_bounds(Neighborhood& out, uint32_t known, uint32_t count);
  // Draws for the nodes from `begin` on.
  void sample_hop(size_t index, uint64_t key, uint32_t begin, Neighborhood& out);
  void choose(uint32_t node, const ListBounds& list, uint32_t fanout, uint64_t key);

  const SamplerOptions options_;
  ListReader lists_;
  NodeTable table_;
  memory::Growing<ListBounds> bounds_;  // of the nodes met so far
  memory::Growing<uint64_t> places_;    // positions in the neighbours file that the group reads
  uint64_t place_count_ = 0;
  memory::Growing<uint32_t> looked_;  // LABOR: all lists of the group, one after the other
  Chooser chooser_;
};

}  // namespace plimsoll::sample
