#include "sample/joint_sampler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "sample/sectors.h"

namespace plimsoll::sample {
namespace {

constexpr uint64_t kNumbered = 1 << 16;  // picks that the table makes room for at once

}  // namespace

// What one thread needs for one draft at a time.
struct JointSampler::Scratch {
  Scratch(const Topology& topology, const SamplerOptions& options, memory::Ledger& ledger)
      : table(ledger),
        chooser(options.draw, ledger),
        places(ledger, "sampling"),
        values(ledger, "sampling"),
        lists(topology, ledger, options.reading) {}

  NodeTable table;
  Chooser chooser;
  memory::Growing<uint64_t> places;
  memory::Growing<uint32_t> values;
  ListReader lists;  // for lists that are too long to be read with others
};

class JointSampler::Lent {
 public:
  explicit Lent(JointSampler& sampler) : sampler_(sampler) {
    const std::lock_guard lock(sampler.mutex_);
    if (!sampler.free_.empty()) {
      scratch_ = std::move(sampler.free_.back());
      sampler.free_.pop_back();
    }
    if (!scratch_) {
      scratch_ =
          std::make_unique<Scratch>(sampler.topology_, sampler.options_.sampling, sampler.ledger_);
    }
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    const std::lock_guard lock(sampler_.mutex_);
    sampler_.free_.push_back(std::move(scratch_));
  }
  Scratch& operator*() const { return *scratch_; }

 private:
  JointSampler& sampler_;
  std::unique_ptr<Scratch> scratch_;
};

uint64_t Draft::bytes_needed(const SamplerOptions& options, const BatchSize& size) {
  return memory::Growing<ListBounds>::grown_bytes(options.all_degrees ? size.nodes
                                                                      : size.expanded()) +
         memory::Growing<uint32_t>::renewed_bytes(size.expanded());
}

uint64_t JointSampler::bytes_needed(const Options& options, const BatchSize& size, uint64_t nodes,
                                    uint64_t edges) {
  const uint64_t scratch = NodeTable::bytes_needed(size.nodes + kNumbered) +
                           memory::Growing<uint64_t>::grown_bytes(kMostPlaces) +
                           memory::Growing<uint32_t>::grown_bytes(kMostPlaces) +
                           Chooser::bytes_needed(options.sampling.draw);
  return options.threads * scratch + io::BulkReader::bytes_needed(options.reading) +
         Sectors::bytes_needed((nodes + 1) * sizeof(uint64_t), options.room_bytes) +
         Sectors::bytes_needed(edges * sizeof(uint32_t), options.room_bytes);
}

JointSampler::JointSampler(const Topology& topology, const Options& options, memory::Ledger& ledger)
    : topology_(topology), options_(options), ledger_(ledger), reader_(ledger, options.reading) {}
JointSampler::~JointSampler() = default;

io::ReadQueue::Counts JointSampler::counts() const {
  io::ReadQueue::Counts all = reader_.counts();
  const std::lock_guard lock(mutex_);
  all += released_;
  for (const auto& scratch : free_) all += scratch->lists.reader().counts();
  return all;
}

void JointSampler::release() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& scratch : free_) released_ += scratch->lists.reader().counts();
  }
  reader_.release();
  bounds_sectors_.reset();
  list_sectors_.reset();
  free_.clear();
}

template <typename Body>
void JointSampler::for_each(std::span<Draft> drafts, const Body& body) {
  const auto threads = static_cast<unsigned>(std::min<uint64_t>(options_.threads, drafts.size()));
  parallel_for(threads, drafts.size(), [&](size_t i) {
    const Lent scratch(*this);
    body(drafts[i], *scratch);
  });
}

uint64_t JointSampler::hop_key(const Draft& draft, size_t hop) {
  return RandomStream(draft.key, hop).at(0);
}

void JointSampler::sample(std::span<Draft> drafts) {
  for (Draft& draft : drafts) {
    draft.known = draft.begin = 0;
    draft.count = draft.out->seeds;
  }
  const std::vector<uint32_t>& fanout = options_.sampling.fanout;
  const bool once = options_.sampling.expansion == Expansion::once;
  for (size_t hop = 0; hop < fanout.size(); ++hop) {
    if (fanout[hop] == 0) {
      for (Draft& draft : drafts) {
        draft.out->hops[hop].lead_nowhere(draft.count);
        if (once) draft.begin = draft.count;
      }
      continue;
    }
    find_bounds(drafts);
    pick(drafts, hop);
    for_each(drafts, [&](Draft& draft, Scratch& scratch) { number(draft, hop, scratch); });
    if (once) {
      for (Draft& draft : drafts) draft.begin = draft.out->hops[hop].destinations;
    }
  }
  if (options_.sampling.all_degrees) find_bounds(drafts);
}

void JointSampler::find_bounds(std::span<Draft> drafts) {
  const io::LinedFile& file = topology_.offsets();
  std::atomic<uint64_t> missing = 0;
  for_each(drafts, [&](Draft& draft, Scratch& /*scratch*/) {
    draft.bounds.reserve(draft.count, draft.known);
    draft.out->degrees.reserve(draft.count, draft.known);
    missing += find_resident_bounds(
        topology_, {draft.out->nodes.data() + draft.known, draft.count - draft.known},
        draft.bounds.data() + draft.known);
  });
  if (missing > 0) {
    if (!bounds_sectors_) {
      bounds_sectors_ = std::make_unique<Sectors>(file, options_.room_bytes, ledger_);
    }
    Sectors& sectors = *bounds_sectors_;
    // Calls body(byte of the file, bounds) for the nodes of all drafts that are still missing.
    const auto for_missing = [&](const auto& body) {
      for_each(drafts, [&](Draft& draft, Scratch& /*scratch*/) {
        for (uint32_t i = draft.known; i < draft.count; ++i) {
          if (draft.bounds[i].begin != kNotResident) continue;
          body(draft.out->nodes[i] * sizeof(uint64_t), draft.bounds[i]);
        }
      });
    };
    sectors.begin();
    for_missing([&](uint64_t byte, const ListBounds& /*bounds*/) { sectors.expect(byte, 1); });
    sectors.for_each_range(
        reader_,
        [&](const Sectors::Range& range) {
          for_missing([&](uint64_t byte, const ListBounds& /*bounds*/) {
            if (!range.has(byte)) return;
            sectors.want(byte);
            sectors.want(byte + sizeof(uint64_t));
          });
        },
        [&](const Sectors::Range& range) {
          for_missing([&](uint64_t byte, ListBounds& bounds) {
            if (!range.has(byte)) return;
            bounds = checked_bounds(
                topology_, byte / sizeof(uint64_t),
                {sectors.at<uint64_t>(byte), sectors.at<uint64_t>(byte + sizeof(uint64_t))});
          });
        });
  }
  for_each(drafts, [&](Draft& draft, Scratch& /*scratch*/) {
    for (; draft.known < draft.count; ++draft.known) {
      draft.out->degrees[draft.known] = static_cast<uint32_t>(draft.bounds[draft.known].degree);
    }
  });
}

void JointSampler::pick(std::span<Draft> drafts, size_t hop) {
  const io::LinedFile& file = topology_.neighbors();
  const uint32_t fanout = options_.sampling.fanout[hop];
  for_each(drafts, [&](Draft& draft, Scratch& scratch) { pick_resident(draft, hop, scratch); });
  const bool all_resident =
      std::ranges::all_of(drafts, [](const Draft& draft) { return draft.missing_count == 0; });
  if (all_resident) return;
  if (!list_sectors_) {
    list_sectors_ = std::make_unique<Sectors>(file, options_.room_bytes, ledger_);
  }
  Sectors& sectors = *list_sectors_;
  const auto sectors_of = [&](const ListBounds& list) {
    const uint64_t first = sectors.sector_of(list.begin * sizeof(uint32_t));
    const uint64_t last = sectors.sector_of((list.begin + list.degree - 1) * sizeof(uint32_t));
    return last - first + 1;
  };
  const auto is_long = [&](const ListBounds& list) {
    return sectors_of(list) > sectors.most_of_one();
  };
  sectors.begin();
  for_each(drafts, [&](Draft& draft, Scratch& scratch) {
    for (const uint32_t i : draft.missing.first(draft.missing_count)) {
      const ListBounds& list = draft.bounds[i];
      if (is_long(list)) continue;
      sectors.expect(list.begin * sizeof(uint32_t),
                     std::min<uint64_t>(sectors_of(list), scratch.chooser.read(list, fanout)));
    }
  });
  const auto choose = [&](const Draft& draft, uint32_t i, Scratch& scratch) {
    const ListBounds& list = draft.bounds[i];
    const uint32_t count = scratch.chooser.read(list, fanout);
    scratch.places.renew(count);
    scratch.values.renew(count);
    scratch.chooser.prepare(list.degree, fanout);
    scratch.chooser.choose(draft.out->nodes[i], list, fanout, hop_key(draft, hop),
                           scratch.places.data());
    return scratch.places.first(count);
  };
  const auto keep = [&](const Draft& draft, uint32_t i, const Scratch& scratch, uint64_t count) {
    const Hop& out = draft.out->hops[hop];
    scratch.chooser.keep(scratch.values.first(count), out.degree(i), hop_key(draft, hop),
                         out.indices.data() + out.offsets[i]);
  };
  // Calls body(draft, index in the hop, positions, scratch) for the missing lists of a range.
  const auto for_range = [&](const Sectors::Range& range, const auto& body) {
    for_each(drafts, [&](Draft& draft, Scratch& scratch) {
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
  };
  sectors.for_each_range(
      reader_,
      [&](const Sectors::Range& range) {
        for_range(range, [&](const Draft& /*draft*/, uint32_t /*i*/,
                             std::span<const uint64_t> places, const Scratch& /*scratch*/) {
          for (const uint64_t place : places) sectors.want(place * sizeof(uint32_t));
        });
      },
      [&](const Sectors::Range& range) {
        for_range(range, [&](const Draft& draft, uint32_t i, std::span<const uint64_t> places,
                             const Scratch& scratch) {
          for (size_t j = 0; j < places.size(); ++j) {
            scratch.values[j] =
                checked_neighbor(topology_, sectors.at<uint32_t>(places[j] * sizeof(uint32_t)));
          }
          keep(draft, i, scratch, places.size());
        });
      });
  for_each(drafts, [&](Draft& draft, Scratch& scratch) {
    for (const uint32_t i : draft.missing.first(draft.missing_count)) {
      if (!is_long(draft.bounds[i])) continue;
      const auto places = choose(draft, i, scratch);
      scratch.lists.neighbors(places, scratch.values.data());
      keep(draft, i, scratch, places.size());
    }
  });
}

// Lays out the hop, and picks from the lists that end before the line.
void JointSampler::pick_resident(Draft& draft, size_t hop, Scratch& scratch) const {
  const uint32_t fanout = options_.sampling.fanout[hop];
  const uint64_t key = hop_key(draft, hop);
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

// Replaces the nodes in the hop's indices by their numbers in the neighbourhood.
void JointSampler::number(Draft& draft, size_t hop, Scratch& scratch) {
  NodeTable& table = scratch.table;
  Hop& out = draft.out->hops[hop];
  memory::Growing<uint32_t>& nodes = draft.out->nodes;
  table.clear(draft.count);
  for (uint32_t i = 0; i < draft.count; ++i) {
    table.prefetch(nodes[std::min<uint64_t>(i + kTableAhead, draft.count - 1)]);
    table.number(nodes[i]);
  }
  const uint64_t edges = out.edges();
  uint32_t* const picked = out.indices.data();
  for (uint64_t first = 0; first < edges; first += kNumbered) {
    const uint64_t last = std::min(edges, first + kNumbered);
    table.reserve(table.count() + (last - first));
    nodes.reserve(table.count() + (last - first), table.count());
    for (uint64_t i = first; i < last; ++i) {
      table.prefetch(picked[std::min(i + kTableAhead, edges - 1)]);
      const uint32_t node = picked[i];
      const uint32_t number = table.number(node);
      nodes[number] = node;  // no change if the node has been met before
      picked[i] = number;
    }
  }
  draft.count = out.sources = table.count();
}

}  // namespace plimsoll::sample
