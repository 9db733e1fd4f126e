// Floyd's algorithm draws k of n places with k random numbers and no list of n. The memory accesses
// are what costs, so nodes are handled in groups: first all places are drawn and asked for
// (prefetched), then all neighbours read, then all numbered.
#include "sample/sampler.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/random.h"

namespace plimsoll::sample {
namespace {

constexpr uint32_t kGroup = 64;
// Up to here a linear look at the places drawn so far beats a bit for every place.
constexpr uint32_t kFewPlaces = 48;

}  // namespace

Neighborhood::Neighborhood(memory::Ledger& ledger, size_t hop_count, memory::PageSource* source)
    : nodes(ledger, "batches", source) {
  for (size_t i = 0; i < hop_count; ++i) {
    hops.push_back({.offsets = memory::Growing<uint32_t>(ledger, "batches", source),
                    .indices = memory::Growing<uint32_t>(ledger, "batches", source)});
  }
}

Sampler::Sampler(const Topology& topology, std::vector<uint32_t> fanout, memory::Ledger& ledger)
    : topology_(topology),
      fanout_(std::move(fanout)),
      table_(ledger),
      places_(ledger, "sampling"),
      chosen_(ledger, "sampling") {}

void Sampler::sample(std::span<const uint32_t> seeds, uint64_t key, Neighborhood& out) {
  out.seeds = static_cast<uint32_t>(seeds.size());
  table_.clear(seeds.size());
  out.nodes.renew(seeds.size());
  for (const uint32_t seed : seeds) {
    out.nodes[table_.count()] = seed;
    table_.number(seed);
  }
  if (table_.count() != seeds.size()) {
    fail(ErrorKind::internal, "{} seeds, {} of them different", seeds.size(), table_.count());
  }
  for (size_t i = 0; i < fanout_.size(); ++i) {
    sample_hop(fanout_[i], RandomStream(key, i).at(0), out, out.hops[i]);
  }
}

void Sampler::sample_hop(uint32_t fanout, uint64_t key, Neighborhood& out, Hop& hop) {
  hop.destinations = table_.count();
  hop.offsets.renew(uint64_t{hop.destinations} + 1);
  hop.offsets[0] = 0;
  uint64_t edges = 0;
  for (uint32_t i = 0; i < std::min(kGroup, hop.destinations); ++i) {
    topology_.prefetch_list_bounds(out.nodes[i]);
  }
  for (uint32_t first = 0; first < hop.destinations; first += kGroup) {
    const uint32_t last = std::min(first + kGroup, hop.destinations);
    const uint32_t next = std::min(last + kGroup, hop.destinations);
    for (uint32_t i = last; i < next; ++i) topology_.prefetch_list_bounds(out.nodes[i]);
    place_count_ = 0;
    for (uint32_t i = first; i < last; ++i) {
      edges += choose(out.nodes[i], fanout, key);
      hop.offsets[i + 1] = static_cast<uint32_t>(edges);
    }
    if (edges > UINT32_MAX) {
      fail(ErrorKind::input, "a batch has more than {} edges; lower --batch-size or --fanout",
           UINT32_MAX);
    }
    const uint64_t from = edges - place_count_;
    hop.indices.reserve(edges, from);
    table_.reserve(table_.count() + place_count_);
    uint32_t* picked = hop.indices.data() + from;
    for (uint64_t i = 0; i < place_count_; ++i) {
      picked[i] = topology_.neighbor(places_[i]);
      table_.prefetch(picked[i]);
    }
    out.nodes.reserve(table_.count() + place_count_, table_.count());
    for (uint64_t i = 0; i < place_count_; ++i) {
      const uint32_t node = picked[i];
      const uint32_t number = table_.number(node);
      out.nodes[number] = node;  // the same value where it has been met before
      picked[i] = number;
    }
  }
  hop.sources = table_.count();
}

// Appends the places of up to `fanout` neighbours to places_; returns how many.
uint32_t Sampler::choose(uint32_t node, uint32_t fanout, uint64_t key) {
  const uint64_t begin = topology_.begin(node);
  const uint64_t degree = topology_.degree(node);
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(fanout, degree));
  places_.reserve(place_count_ + count, place_count_);
  if (degree <= fanout) {
    for (uint64_t i = 0; i < degree; ++i) places_[place_count_ + i] = begin + i;
    constexpr uint64_t kNeighborsPerLine = 16;
    for (uint64_t i = 0; i < degree; i += kNeighborsPerLine) {
      topology_.prefetch_neighbor(begin + i);
    }
    if (degree > 0) topology_.prefetch_neighbor(begin + degree - 1);
  } else if (count <= kFewPlaces) {
    choose_some(begin, degree, count, mix64(key + node));
  } else {
    choose_many(begin, degree, count, mix64(key + node));
  }
  place_count_ += count;
  return count;
}

void Sampler::choose_some(uint64_t begin, uint64_t degree, uint32_t count, uint64_t node_key) {
  const RandomStream draws(node_key, 0);
  uint64_t* places = places_.data() + place_count_;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t newest = degree - count + i;
    uint64_t place = begin + below(draws.at(i), newest + 1);
    bool taken = false;
    for (uint32_t j = 0; j < i; ++j) taken |= places[j] == place;
    if (taken) place = begin + newest;
    places[i] = place;
    topology_.prefetch_neighbor(place);
  }
}

void Sampler::choose_many(uint64_t begin, uint64_t degree, uint32_t count, uint64_t node_key) {
  const RandomStream draws(node_key, 0);
  const uint64_t words = (degree + 63) / 64;
  chosen_.renew(words);
  std::fill_n(chosen_.data(), words, 0);
  uint64_t* places = places_.data() + place_count_;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t newest = degree - count + i;
    uint64_t place = below(draws.at(i), newest + 1);
    if ((chosen_[place / 64] >> (place % 64) & 1) != 0) place = newest;
    chosen_[place / 64] |= uint64_t{1} << (place % 64);
    places[i] = begin + place;
    topology_.prefetch_neighbor(places[i]);
  }
}

}  // namespace plimsoll::sample
