// Draws neighbourhoods: from the seeds outwards, hop by hop, up to a fan-out of in-neighbours of
// every node met so far, uniformly and without replacement. A fan-out beyond a list's length takes
// the list as it stands.
//
// Every draw is a hash of (key, hop, node, draw), so a neighbourhood depends on its seeds and key
// alone, not on threads or on what was drawn before.
//
// LABOR (Draw::labor): every neighbour has one number, a hash of (key, hop, neighbour), and a node
// takes the neighbours with the smallest. Each node still draws uniformly without replacement, but
// nodes with common neighbours prefer the same ones, so that a batch has fewer different nodes. It
// looks at whole lists; those longer than kMostLooked are drawn from as above.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/growing.h"
#include "memory/ledger.h"
#include "recipe/recipe.h"
#include "sample/batch_size.h"
#include "sample/node_table.h"
#include "sample/topology.h"

namespace plimsoll::sample {

// One hop as a bipartite graph: destination i receives from the sources indices[offsets[i] ..
// offsets[i + 1]]. Both count in Neighborhood::nodes, and the destinations are the first of the
// sources.
struct Hop {
  uint32_t destinations = 0;
  uint32_t sources = 0;
  memory::Growing<uint32_t> offsets;
  memory::Growing<uint32_t> indices;

  uint32_t edges() const { return offsets[destinations]; }
  uint32_t degree(uint32_t destination) const {
    return offsets[destination + 1] - offsets[destination];
  }
};

// Filled by a Sampler; keeps its room from one batch to the next.
struct Neighborhood {
  Neighborhood(memory::Ledger& ledger, size_t hop_count, memory::PageSource* source = nullptr);
  static uint64_t bytes_needed(const BatchSize& size, bool all_degrees);

  uint32_t node_count() const { return hops.empty() ? seeds : hops.back().sources; }

  uint32_t seeds = 0;
  memory::Growing<uint32_t> nodes;  // positions in the store: seeds, then every hop's newcomers
  // In the whole graph, of all nodes but the outermost, or of those as well: see SamplerOptions.
  memory::Growing<uint32_t> degrees;
  std::vector<Hop> hops;  // hops[0] ends at the seeds
};

constexpr uint64_t kMostLooked = 4096;

struct SamplerOptions {
  std::vector<uint32_t> fanout;  // one hop each, the seeds' first; 0 = the nodes alone
  bool all_degrees = false;      // the outermost nodes', too
  recipe::Draw draw = recipe::Draw::uniform;
  io::ReadOptions reading;
};

// For one thread; the topology must outlive it.
class Sampler {
 public:
  Sampler(const Topology& topology, SamplerOptions options, memory::Ledger& ledger);

  // What it keeps after drawing a neighbourhood of that size. `looked_at` is how many neighbours
  // LABOR looks at for its last hop.
  static uint64_t bytes_needed(const SamplerOptions& options, const BatchSize& size,
                               uint64_t looked_at, bool reads_disk);

  // The seeds must be distinct.
  void sample(std::span<const uint32_t> seeds, uint64_t key, Neighborhood& out);

  // Gives back the memory that it keeps for the next neighbourhood.
  void release();

  io::ReadQueue& queue() { return lists_.reader().queue(); }
  io::ReadQueue::Counts counts() { return lists_.reader().counts(); }

 private:
  void find_bounds(Neighborhood& out, uint32_t known, uint32_t count);
  void sample_nobody(Hop& hop);
  void sample_hop(uint32_t fanout, uint64_t key, Neighborhood& out, Hop& hop);
  void choose(uint32_t node, const ListBounds& list, uint32_t fanout, uint64_t key);
  struct Range {
    uint32_t first;
    uint32_t last;
  };
  void keep_smallest(const Range& destinations, const Hop& hop, uint64_t key, uint32_t* picked);
  void choose_some(const ListBounds& list, uint32_t count, uint64_t node_key);
  void choose_many(const ListBounds& list, uint32_t count, uint64_t node_key);

  const SamplerOptions options_;
  ListReader lists_;
  NodeTable table_;
  memory::Growing<ListBounds> bounds_;  // of the nodes met so far
  memory::Growing<uint64_t> places_;    // of the group's picks, in the neighbours file
  memory::Growing<uint64_t> chosen_;    // a bit for every place of a list, for large fan-outs
  uint64_t place_count_ = 0;
  memory::Growing<uint32_t> looked_;   // LABOR: all of the group's lists, one by one
  memory::Growing<uint64_t> numbers_;  // of one list, and their order
};

}  // namespace plimsoll::sample
