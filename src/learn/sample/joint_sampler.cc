#include "sample/joint_sampler.h"

#include <algorithm>
#include <atomic>

#include "base/random.h"
#include "sample/joint_scratch.h"
#include "sample/sectors.h"

namespace plimsoll::sample {
namespace {

constexpr uint64_t kNumbered = 1 << 16;  // picks that the table makes room for at once

}  // namespace

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
  std::atomic<uint64_t> missing = 0;
  for_each(drafts, [&](Draft& draft, Scratch& /*scratch*/) {
    draft.bounds.reserve(draft.count, draft.known);
    draft.out->degrees.reserve(draft.count, draft.known);
    missing += find_resident_bounds(
        topology_, {draft.out->nodes.data() + draft.known, draft.count - draft.known},
        draft.bounds.data() + draft.known);
  });
  if (missing > 0) read_bounds(drafts);
  for_each(drafts, [&](Draft& draft, Scratch& /*scratch*/) {
    for (; draft.known < draft.count; ++draft.known) {
      draft.out->degrees[draft.known] = static_cast<uint32_t>(draft.bounds[draft.known].degree);
    }
  });
}

// Reads the bounds that are not resident.
void JointSampler::read_bounds(std::span<Draft> drafts) {
  if (!bounds_sectors_) {
    bounds_sectors_ = std::make_unique<Sectors>(topology_.offsets(), options_.room_bytes, ledger_);
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
