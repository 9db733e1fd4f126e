// Memory accesses cost the most, so nodes are processed in groups: first draw and prefetch all
// positions, then read all neighbours, then number them. If lists are read from disk, the groups
// are large, so that many reads are in flight.
#include "sample/sampler.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/random.h"

namespace plimsoll::sample {
namespace {

constexpr uint32_t kDiskGroup = 16384;

}  // namespace

void Hop::lead_nowhere(uint32_t count) {
  destinations = sources = count;
  offsets.renew(uint64_t{count} + 1);
  std::fill_n(offsets.data(), count + 1, 0);
}

void check_edges(uint64_t edges) {
  if (edges <= UINT32_MAX) return;
  fail(ErrorKind::input, "a batch has more than {} edges; lower --batch-size or --fanout",
       UINT32_MAX);
}

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
    bytes += memory::Growing<uint32_t>::renewed_bytes(places) + Chooser::bytes_needed(options.draw);
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
      looked_(ledger, "sampling"),
      chooser_(options_.draw, ledger) {}

void Sampler::release() {
  lists_.reader().release();
  table_.release();
  bounds_.release();
  places_.release();
  looked_.release();
  chooser_.release();
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
  uint32_t known = 0;     // the bounds of the first `known` nodes are known
  uint32_t expanded = 0;  // the first so many nodes have had their hop
  for (size_t i = 0; i < options_.fanout.size(); ++i) {
    const uint32_t met = table_.count();
    const uint32_t first = options_.expansion == Expansion::once ? expanded : 0;
    expanded = met;
    if (options_.fanout[i] == 0) {
      out.hops[i].lead_nowhere(met);
      continue;
    }
    find_bounds(out, known, met);
    known = met;
    sample_hop(i, RandomStream(key, i).at(0), first, out);
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

void Sampler::sample_hop(size_t index, uint64_t key, uint32_t begin, Neighborhood& out) {
  const uint32_t fanout = options_.fanout[index];
  Hop& hop = out.hops[index];
  hop.destinations = table_.count();
  hop.offsets.renew(uint64_t{hop.destinations} + 1);
  std::fill_n(hop.offsets.data(), begin + 1, 0);
  uint64_t edges = 0;
  const uint32_t group = lists_.topology().neighbors().resident() ? kGroup : kDiskGroup;
  const bool labor = options_.draw == recipe::Draw::labor;
  for (uint32_t next = begin; next < hop.destinations;) {
    const uint32_t first = next;
    place_count_ = 0;
    for (; next < hop.destinations && next - first < group && place_count_ < kMostPlaces; ++next) {
      edges += Chooser::taken(bounds_[next], fanout);
      hop.offsets[next + 1] = static_cast<uint32_t>(edges);
      choose(out.nodes[next], bounds_[next], fanout, key);
    }
    check_edges(edges);
    const uint64_t from = hop.offsets[first];
    const uint64_t picks = edges - from;
    hop.indices.reserve(edges, from);
    table_.reserve(table_.count() + picks);
    out.nodes.reserve(table_.count() + picks, table_.count());
    uint32_t* picked = hop.indices.data() + from;
    if (labor) {
      looked_.renew(place_count_);
      lists_.neighbors({places_.data(), place_count_}, looked_.data());
      const uint32_t* list = looked_.data();
      for (uint32_t i = first; i < next; ++i) {
        const uint32_t length = chooser_.read(bounds_[i], fanout);
        chooser_.keep({list, length}, hop.degree(i), key, hop.indices.data() + hop.offsets[i]);
        list += length;
      }
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

// Appends the positions of the neighbours to read to places_.
void Sampler::choose(uint32_t node, const ListBounds& list, uint32_t fanout, uint64_t key) {
  const uint32_t count = chooser_.read(list, fanout);
  places_.reserve(place_count_ + count, place_count_);
  chooser_.prepare(list.degree, fanout);
  uint64_t* const places = places_.data() + place_count_;
  chooser_.choose(node, list, fanout, key, places);
  if (list.degree <= count) {
    constexpr uint64_t kNeighborsPerLine = 16;
    for (uint64_t i = 0; i < count; i += kNeighborsPerLine) lists_.prefetch(list.begin + i);
    if (count > 0) lists_.prefetch(list.begin + count - 1);
  } else {
    for (uint32_t i = 0; i < count; ++i) lists_.prefetch(places[i]);
  }
  place_count_ += count;
}

}  // namespace plimsoll::sample
