#include "ingest/collect_lists.h"

#include <atomic>
#include <bit>
#include <cstring>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "ingest/build_plan.h"
#include "ingest/key_sort.h"
#include "ingest/spill.h"

namespace plimsoll::ingest {
namespace {

constexpr size_t kEdgesPerBlock = 64 * 1024;

// An edge as a sort key: its list in the high half, the neighbour in the low half.
constexpr uint64_t edge_key(uint32_t node, uint32_t neighbor) {
  return (static_cast<uint64_t>(node) << 32) | neighbor;
}

// Buckets are ranges of 2^shift nodes.
int bucket_shift(uint64_t nodes, size_t most_buckets) {
  int shift = 0;
  while (((nodes - 1) >> shift) >= most_buckets) ++shift;
  return shift;
}

// Pass 1: every edge into the bucket of its list.
uint64_t distribute(InputGraph& source, graph::Direction direction, int shift, Spill& spill,
                    unsigned threads, const BuildContext& context) {
  std::atomic<uint64_t> self_loops = 0;
  if (const uint64_t bytes = source.bytes_before_edges()) {
    context.progress.start_step("finding destinations", "bytes", bytes);
    source.skip_to_edges([&](uint64_t skipped) { context.progress.add(skipped); });
  }
  context.progress.start_step("reading edges", "edges", source.shape().edges);
  run_team(threads, [&](Team& team) {
    memory::Buffer<uint32_t> sources(context.ledger, "edge blocks", kEdgesPerBlock);
    memory::Buffer<uint32_t> destinations(context.ledger, "edge blocks", kEdgesPerBlock);
    KeyScatter scatter(context.ledger, spill);
    uint64_t loops = 0;
    while (const size_t count = source.next_edges(sources.span(), destinations.span())) {
      if (team.stopping()) return;
      throw_if_interrupted();
      for (size_t i = 0; i < count; ++i) {
        const uint32_t from = sources[i];
        const uint32_t to = destinations[i];
        if (from == to) {
          ++loops;
          continue;
        }
        scatter.put(to >> shift, edge_key(to, from));
        if (direction == graph::Direction::undirected)
          scatter.put(from >> shift, edge_key(from, to));
      }
      context.progress.add(count);
    }
    scatter.flush();
    self_loops += loops;
  });
  spill.seal();
  return self_loops;
}

// Turns ascending keys into neighbours, in the same memory, and counts the lists' lengths.
class ListCutter {
 public:
  ListCutter(Lists& lists, bool drop_duplicates)
      : lists_(lists), drop_duplicates_(drop_duplicates) {}

  void cut(std::span<uint64_t> keys) {
    if (keys.empty()) return;
    const auto degrees = lists_.degrees();
    auto* const out = reinterpret_cast<std::byte*>(keys.data());
    // The first key may repeat the last one of the piece before; its list may have begun there.
    const auto first_node = static_cast<uint32_t>(keys.front() >> 32);
    Segment segment{.first_node = first_node, .first_list_done = degrees[first_node]};
    for (const uint64_t key : keys) {
      if (drop_duplicates_ && key == previous_key_) {
        ++duplicates_;
        continue;
      }
      previous_key_ = key;
      ++degrees[key >> 32];
      const auto neighbor = static_cast<uint32_t>(key);
      // Never ahead of the key being read: neighbours are half as wide.
      std::memcpy(out + segment.neighbors * sizeof neighbor, &neighbor, sizeof neighbor);
      ++segment.neighbors;
    }
    lists_.add(segment, out);
  }

  uint64_t duplicates() const { return duplicates_; }

 private:
  Lists& lists_;
  bool drop_duplicates_;
  uint64_t previous_key_ = ~uint64_t{0};  // no edge: it would be a self-loop
  uint64_t duplicates_ = 0;
};

}  // namespace

DroppedEdges collect_lists(InputGraph& source, graph::Direction direction,
                           const BuildContext& context, Lists& lists) {
  const uint64_t nodes = source.shape().nodes;
  const bool undirected = direction == graph::Direction::undirected;
  const uint64_t most_edges = source.shape().edges * (undirected ? 2 : 1);
  const Distribution plan = plan_distribution({.total_bytes = most_edges * sizeof(uint64_t),
                                               .record_bytes = sizeof(uint64_t),
                                               .memory_bytes = context.ledger.available_bytes(),
                                               .threads = context.threads});
  const int shift = bucket_shift(nodes, plan.buckets);
  Spill spill(context.ledger, {.temp = context.temp,
                               .buckets = ((nodes - 1) >> shift) + 1,
                               .record_bytes = sizeof(uint64_t),
                               .chunk_bytes = plan.chunk_bytes});
  const uint64_t self_loops = distribute(source, direction, shift, spill, plan.threads, context);

  std::atomic<uint64_t> duplicates = 0;
  std::atomic<size_t> next = 0;
  std::mutex one_oversized_at_a_time;
  context.progress.start_step("sorting edges", "edges", most_edges);
  run_team(plan.threads, [&](Team& team) {
    SortWorkspace workspace(context.ledger, plan.workspace_bytes, plan.chunk_bytes);
    for (size_t bucket = next++; bucket < spill.buckets() && !team.stopping(); bucket = next++) {
      throw_if_interrupted();
      ListCutter cutter(lists, undirected);
      if (fits(spill, bucket, workspace)) {
        cutter.cut(load_sorted(spill, bucket, workspace));
      } else {
        const std::lock_guard lock(one_oversized_at_a_time);
        const SortedSink sink = [&](std::span<uint64_t> keys) { cutter.cut(keys); };
        const uint64_t first = static_cast<uint64_t>(bucket) << shift << 32;
        const uint64_t last = first + (uint64_t{1} << shift << 32) - 1;
        stream_sorted(spill, bucket, {first, last},
                      {context.ledger, context.temp, workspace, sink});
      }
      duplicates += cutter.duplicates();
      context.progress.add(spill.bytes(bucket) / sizeof(uint64_t));
    }
  });
  // A repeated edge stands in two lists of an undirected graph.
  return {self_loops, duplicates / (undirected ? 2 : 1)};
}

}  // namespace plimsoll::ingest
