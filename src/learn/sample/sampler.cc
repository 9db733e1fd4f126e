// Floyd's algorithm draws k of n positions with k random numbers and without a list of n. Memory
// accesses cost the most, so nodes are processed in groups: first draw and prefetch all positions,
// then read all neighbours, then number them. If lists are read from disk, the groups are large, so
// that many reads are in flight.
#include "sample/sampler.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/random.h"

namespace plimsoll::sample {
namespace {

constexpr uint32_t kGroup = 64;
constexpr uint32_t kDiskGroup = 16384;
constexpr uint64_t kMostPlaces = 1 << 18;  // per group; the last list may exceed it
// Up to this many draws, a linear search is faster than a bit set.
constexpr uint32_t kFewPlaces = 48;
constexpr uint64_t kTableAhead = 16;  // how many nodes ahead to prefetch table slots

// How many neighbours of a list LABOR reads to take `fanout` of them.
uint32_t looks_at(const ListBounds& list, uint32_t fanout) {
  return list.degree <= kMostLooked ? static_cast<uint32_t>(list.degree) : fanout;
}

}  // namespace

Neighborhood::Neighborhood(memory::Ledger& ledger, size_t hop_count, memory::PageSource* source)
    : nodes(ledger, "batches", source), degrees(ledger, "batches", source) {
  for (size_t i = 0; i < hop_count; ++i) {
    hops.push_back({.offsets = memory::Growing<uint32_t>(ledger, "batches", source),
                    .indices = memory::Growing<uint32_t>(ledger, "batches", source)});
  }
}

uint64_t Neighborhood::bytes_needed(const BatchSize& size, bool all_degrees) {
  using Words = memory::Growing<uint32_t>;
  uint64_t bytes = Words::grown_bytes(size.nodes);
  if (!size.hops.empty()) {
    bytes += Words::grown_bytes(all_degrees ? size.nodes : size.hops.back().destinations);
  }
  for (const HopSize& hop : size.hops) {
    bytes += Words::renewed_bytes(hop.destinations + 1) + Words::grown_bytes(hop.edges);
  }
  return bytes;
}

// If lists are read from disk, a group has as many positions as there are edges, up to kMostPlaces.
// Else it has the positions of kGroup lists, which may be longer than the average. A single list
// may be longer than either.
uint64_t Sampler::bytes_needed(const SamplerOptions& options, const BatchSize& size,
                               uint64_t looked_at, bool reads_disk) {
  constexpr uint64_t kPlacesOfAGroup = 4096;
  constexpr uint64_t kLongLists = 8;  // allow lists of so many times the average length
  const bool labor = options.draw == recipe::Draw::labor;
  const uint64_t edges = labor ? looked_at : size.most_edges();
  const uint64_t of_lists =
      kLongLists * kGroup * (edges / std::max<uint64_t>(1, size.expanded()) + 1);
  const uint64_t group =
      std::min({edges, kMostPlaces, reads_disk ? edges : std::max(kPlacesOfAGroup, of_lists)});
  const uint64_t longest = size.seeds == 1 ? size.most_edges() : 0;
  const uint64_t places = std::max(group, longest);
  const uint64_t bounds = options.all_degrees ? size.nodes : size.expanded();
  uint64_t bytes = NodeTable::bytes_needed(size.nodes + places) +
                   memory::Growing<ListBounds>::grown_bytes(bounds) +
                   memory::Growing<uint64_t>::grown_bytes(places);
  if (labor) {
    bytes += memory::Growing<uint32_t>::renewed_bytes(places) +
             memory::Growing<uint64_t>::renewed_bytes(kMostLooked);
  }
  if (reads_disk) {
    bytes += io::ScatteredReader::bytes_needed(options.reading, std::max(places, bounds));
  }
  return bytes;
}

Sampler::Sampler(const Topology& topology, SamplerOptions options, memory::Ledger& ledger)
    : options_(std::move(options)),
      lists_(topology, ledger, options_.reading),
      table_(ledger),
      bounds_(ledger, "sampling"),
      places_(ledger, "sampling"),
      chosen_(ledger, "sampling"),
      looked_(ledger, "sampling"),
      numbers_(ledger, "sampling") {}

void Sampler::release() {
  lists_.reader().release();
  table_.release();
  bounds_.release();
  places_.release();
  chosen_.release();
  looked_.release();
  numbers_.release();
}

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
  uint32_t known = 0;  // the bounds of the first `known` nodes are known
  for (size_t i = 0; i < options_.fanout.size(); ++i) {
    if (options_.fanout[i] == 0) {
      sample_nobody(out.hops[i]);
      continue;
    }
    find_bounds(out, known, table_.count());
    known = table_.count();
    sample_hop(options_.fanout[i], RandomStream(key, i).at(0), out, out.hops[i]);
  }
  if (options_.all_degrees) find_bounds(out, known, table_.count());
}

void Sampler::find_bounds(Neighborhood& out, uint32_t known, uint32_t count) {
  bounds_.reserve(count, known);
  out.degrees.reserve(count, known);
  lists_.bounds({out.nodes.data() + known, count - known}, bounds_.data() + known);
  for (uint32_t i = known; i < count; ++i) {
    out.degrees[i] = static_cast<uint32_t>(bounds_[i].degree);
  }
}

void Sampler::sample_nobody(Hop& hop) {
  hop.destinations = hop.sources = table_.count();
  hop.offsets.renew(uint64_t{hop.destinations} + 1);
  std::fill_n(hop.offsets.data(), hop.destinations + 1, 0);
}

void Sampler::sample_hop(uint32_t fanout, uint64_t key, Neighborhood& out, Hop& hop) {
  hop.destinations = table_.count();
  hop.offsets.renew(uint64_t{hop.destinations} + 1);
  hop.offsets[0] = 0;
  uint64_t edges = 0;
  const uint32_t group = lists_.topology().neighbors().resident() ? kGroup : kDiskGroup;
  const bool labor = options_.draw == recipe::Draw::labor;
  for (uint32_t next = 0; next < hop.destinations;) {
    const uint32_t first = next;
    place_count_ = 0;
    for (; next < hop.destinations && next - first < group && place_count_ < kMostPlaces; ++next) {
      edges += std::min<uint64_t>(fanout, bounds_[next].degree);
      hop.offsets[next + 1] = static_cast<uint32_t>(edges);
      choose(out.nodes[next], bounds_[next], labor ? looks_at(bounds_[next], fanout) : fanout, key);
    }
    if (edges > UINT32_MAX) {
      fail(ErrorKind::input, "a batch has more than {} edges; lower --batch-size or --fanout",
           UINT32_MAX);
    }
    const uint64_t from = hop.offsets[first];
    const uint64_t picks = edges - from;
    hop.indices.reserve(edges, from);
    table_.reserve(table_.count() + picks);
    out.nodes.reserve(table_.count() + picks, table_.count());
    uint32_t* picked = hop.indices.data() + from;
    if (labor) {
      looked_.renew(place_count_);
      lists_.neighbors({places_.data(), place_count_}, looked_.data());
      keep_smallest({first, next}, hop, key, picked);
    } else {
      lists_.neighbors({places_.data(), place_count_}, picked);
    }
    for (uint64_t i = 0; i < picks; ++i) {
      table_.prefetch(picked[std::min(i + kTableAhead, picks - 1)]);
      const uint32_t node = picked[i];
      const uint32_t number = table_.number(node);
      out.nodes[number] = node;  // no change if the node has been met before
      picked[i] = number;
    }
  }
  hop.sources = table_.count();
}

// Selects from looked_ what each of these destinations takes, in the order of its list.
void Sampler::keep_smallest(const Range& destinations, const Hop& hop, uint64_t key,
                            uint32_t* picked) {
  constexpr uint64_t kIndexMask = kMostLooked - 1;  // low bits: position; high bits: hash
  const RandomStream numbers(key, 1);
  const uint32_t* list = looked_.data();
  for (uint32_t i = destinations.first; i < destinations.last; ++i) {
    const uint32_t count = hop.degree(i);
    const auto length = static_cast<uint32_t>(looks_at(bounds_[i], count));
    if (length <= count) {
      picked = std::copy_n(list, count, picked);
      list += count;
      continue;
    }
    numbers_.renew(length);
    for (uint32_t j = 0; j < length; ++j) {
      numbers_[j] = (numbers.at(list[j]) & ~kIndexMask) | j;
    }
    uint64_t* const first = numbers_.data();
    std::nth_element(first, first + count, first + length);
    for (uint32_t j = 0; j < count; ++j) first[j] &= kIndexMask;
    std::sort(first, first + count);
    for (uint32_t j = 0; j < count; ++j) *picked++ = list[first[j]];
    list += length;
  }
}

// Appends the positions of up to `fanout` neighbours to places_.
void Sampler::choose(uint32_t node, const ListBounds& list, uint32_t fanout, uint64_t key) {
  const auto [begin, degree] = list;
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(fanout, degree));
  places_.reserve(place_count_ + count, place_count_);
  if (degree <= fanout) {
    for (uint64_t i = 0; i < degree; ++i) places_[place_count_ + i] = begin + i;
    constexpr uint64_t kNeighborsPerLine = 16;
    for (uint64_t i = 0; i < degree; i += kNeighborsPerLine) {
      lists_.prefetch(begin + i);
    }
    if (degree > 0) lists_.prefetch(begin + degree - 1);
  } else if (count <= kFewPlaces) {
    choose_some(list, count, mix64(key + node));
  } else {
    choose_many(list, count, mix64(key + node));
  }
  place_count_ += count;
}

void Sampler::choose_some(const ListBounds& list, uint32_t count, uint64_t node_key) {
  const auto [begin, degree] = list;
  const RandomStream draws(node_key, 0);
  uint64_t* places = places_.data() + place_count_;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t newest = degree - count + i;
    uint64_t place = begin + below(draws.at(i), newest + 1);
    bool taken = false;
    for (uint32_t j = 0; j < i; ++j) taken |= places[j] == place;
    if (taken) place = begin + newest;
    places[i] = place;
    lists_.prefetch(place);
  }
}

void Sampler::choose_many(const ListBounds& list, uint32_t count, uint64_t node_key) {
  const auto [begin, degree] = list;
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
    lists_.prefetch(places[i]);
  }
}

}  // namespace plimsoll::sample
