// How JointSampler picks neighbours: from resident lists right away; the parts of the others that a
// hop needs are read first.
#include <algorithm>
#include <memory>
#include <span>

#include "sample/joint_sampler.h"
#include "sample/joint_scratch.h"
#include "sample/sectors.h"

namespace plimsoll::sample {

// The lists of a hop that are not resident. Most are read together, in the order of the file; those
// that are too long for that are read one by one.
class JointSampler::MissingLists {
 public:
  MissingLists(JointSampler& sampler, std::span<Draft> drafts, size_t hop)
      : sampler_(sampler),
        sectors_(*sampler.list_sectors_),
        drafts_(drafts),
        hop_(hop),
        fanout_(sampler.options_.sampling.fanout[hop]) {}

  void pick() {
    expect();
    pick_together();
    pick_long();
  }

 private:
  uint64_t sectors_of(const ListBounds& list) const {
    const uint64_t first = sectors_.sector_of(list.begin * sizeof(uint32_t));
    const uint64_t last = sectors_.sector_of((list.begin + list.degree - 1) * sizeof(uint32_t));
    return last - first + 1;
  }
  bool is_long(const ListBounds& list) const { return sectors_of(list) > sectors_.most_of_one(); }

  // The positions that draw from a list reads, in scratch memory.
  std::span<const uint64_t> choose(const Draft& draft, uint32_t i, Scratch& scratch) const {
    const ListBounds& list = draft.bounds[i];
    const uint32_t count = scratch.chooser.read(list, fanout_);
    scratch.places.renew(count);
    scratch.values.renew(count);
    scratch.chooser.prepare(list.degree, fanout_);
    scratch.chooser.choose(draft.out->nodes[i], list, fanout_, hop_key(draft, hop_),
                           scratch.places.data());
    return scratch.places.first(count);
  }
  void keep(const Draft& draft, uint32_t i, const Scratch& scratch, uint64_t count) const {
    const Hop& out = draft.out->hops[hop_];
    scratch.chooser.keep(scratch.values.first(count), out.degree(i), hop_key(draft, hop_),
                         out.indices.data() + out.offsets[i]);
  }

  // Calls body(draft, index in the hop, positions, scratch) for the missing lists of a range.
  template <typename Body>
  void for_range(const Sectors::Range& range, const Body& body) {
    sampler_.for_each(drafts_, [&](Draft& draft, Scratch& scratch) {
      const auto missing = draft.missing.first(draft.missing_count);
      const auto first = std::ranges::lower_bound(missing, range.first, {}, [&](uint32_t i) {
        return draft.bounds[i].begin * sizeof(uint32_t);
      });
      for (auto at = first; at != missing.end(); ++at) {
        const ListBounds& list = draft.bounds[*at];
        if (!range.has(list.begin * sizeof(uint32_t))) break;
        if (!is_long(list)) body(draft, *at, choose(draft, *at, scratch), scratch);
      }
    });
  }

  void expect() {
    sectors_.begin();
    sampler_.for_each(drafts_, [&](Draft& draft, Scratch& scratch) {
      for (const uint32_t i : draft.missing.first(draft.missing_count)) {
        const ListBounds& list = draft.bounds[i];
        if (is_long(list)) continue;
        sectors_.expect(list.begin * sizeof(uint32_t),
                        std::min<uint64_t>(sectors_of(list), scratch.chooser.read(list, fanout_)));
      }
    });
  }

  void pick_together() {
    sectors_.for_each_range(
        sampler_.reader_,
        [&](const Sectors::Range& range) {
          for_range(range, [&](const Draft& /*draft*/, uint32_t /*i*/,
                               std::span<const uint64_t> places, const Scratch& /*scratch*/) {
            for (const uint64_t place : places) sectors_.want(place * sizeof(uint32_t));
          });
        },
        [&](const Sectors::Range& range) {
          for_range(range, [&](const Draft& draft, uint32_t i, std::span<const uint64_t> places,
                               const Scratch& scratch) {
            for (size_t j = 0; j < places.size(); ++j) {
              scratch.values[j] = checked_neighbor(
                  sampler_.topology_, sectors_.at<uint32_t>(places[j] * sizeof(uint32_t)));
            }
            keep(draft, i, scratch, places.size());
          });
        });
  }

  void pick_long() {
    sampler_.for_each(drafts_, [&](Draft& draft, Scratch& scratch) {
      for (const uint32_t i : draft.missing.first(draft.missing_count)) {
        if (!is_long(draft.bounds[i])) continue;
        const auto places = choose(draft, i, scratch);
        scratch.lists.neighbors(places, scratch.values.data());
        keep(draft, i, scratch, places.size());
      }
    });
  }

  JointSampler& sampler_;
  Sectors& sectors_;
  std::span<Draft> drafts_;
  size_t hop_;
  uint32_t fanout_;
};

void JointSampler::pick(std::span<Draft> drafts, size_t hop) {
  for_each(drafts, [&](Draft& draft, Scratch& scratch) { pick_resident(draft, hop, scratch); });
  const bool all_resident =
      std::ranges::all_of(drafts, [](const Draft& draft) { return draft.missing_count == 0; });
  if (all_resident) return;
  if (!list_sectors_) {
    list_sectors_ = std::make_unique<Sectors>(topology_.neighbors(), options_.room_bytes, ledger_);
  }
  MissingLists(*this, drafts, hop).pick();
}

// Makes room for what a hop draws.
void JointSampler::lay_out(Draft& draft, size_t hop, Scratch& scratch) const {
  const uint32_t fanout = options_.sampling.fanout[hop];
  const Chooser& chooser = scratch.chooser;
  Hop& out = draft.out->hops[hop];
  out.destinations = draft.count;
  out.offsets.renew(uint64_t{out.destinations} + 1);
  std::fill_n(out.offsets.data(), draft.begin + 1, 0);
  uint64_t edges = 0;
  uint64_t longest = 0;
  uint64_t most_read = 0;
  for (uint32_t i = draft.begin; i < out.destinations; ++i) {
    const ListBounds& list = draft.bounds[i];
    edges += Chooser::taken(list, fanout);
    out.offsets[i + 1] = static_cast<uint32_t>(edges);
    longest = std::max(longest, list.degree);
    most_read = std::max<uint64_t>(most_read, chooser.read(list, fanout));
  }
  check_edges(edges);
  out.indices.renew(edges);
  scratch.chooser.prepare(longest, fanout);
  scratch.places.renew(std::min(kMostPlaces, kGroup * most_read) + most_read);
  scratch.values.renew(most_read);
  draft.missing.renew(out.destinations);
  draft.missing_count = 0;
}

// Picks from the lists that end before the line.
void JointSampler::pick_resident(Draft& draft, size_t hop, Scratch& scratch) const {
  lay_out(draft, hop, scratch);
  const uint32_t fanout = options_.sampling.fanout[hop];
  const uint64_t key = hop_key(draft, hop);
  const Chooser& chooser = scratch.chooser;
  const Hop& out = draft.out->hops[hop];
  // From here on nothing is leased.
  const io::LinedFile::Use use(topology_.neighbors());
  const auto* values = reinterpret_cast<const uint32_t*>(use.data);
  const uint64_t line = use.line_bytes / sizeof(uint32_t);
  const auto is_here = [&](const ListBounds& list) {
    return list.degree == 0 || list.begin + list.degree <= line;
  };
  for (uint32_t next = draft.begin; next < out.destinations;) {
    const uint32_t first = next;
    uint64_t count = 0;
    for (; next < out.destinations && next - first < kGroup && count < kMostPlaces; ++next) {
      const ListBounds& list = draft.bounds[next];
      if (!is_here(list)) {
        draft.missing[draft.missing_count++] = next;
        continue;
      }
      uint64_t* const places = scratch.places.data() + count;
      const uint32_t read = chooser.read(list, fanout);
      chooser.choose(draft.out->nodes[next], list, fanout, key, places);
      for (uint32_t i = 0; i < read; ++i) __builtin_prefetch(values + places[i]);
      count += read;
    }
    const uint64_t* places = scratch.places.data();
    for (uint32_t i = first; i < next; ++i) {
      const ListBounds& list = draft.bounds[i];
      if (!is_here(list)) continue;
      const uint32_t read = chooser.read(list, fanout);
      for (uint32_t j = 0; j < read; ++j) scratch.values[j] = values[places[j]];
      chooser.keep(scratch.values.first(read), out.degree(i), key,
                   out.indices.data() + out.offsets[i]);
      places += read;
    }
  }
  std::ranges::sort(draft.missing.first(draft.missing_count), {},
                    [&](uint32_t i) { return draft.bounds[i].begin; });
}

}  // namespace plimsoll::sample
