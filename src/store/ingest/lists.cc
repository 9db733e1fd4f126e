#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/units.h"
#include "ingest/build_plan.h"
#include "ingest/passes.h"
#include "ingest/spill.h"

namespace plimsoll::ingest {

void Lists::add(Segment segment, const std::byte* neighbors) {
  if (segment.neighbors == 0) return;
  const uint64_t bytes = io::round_up_to_block(segment.neighbors * 4);
  {
    const std::lock_guard lock(mutex_);
    segment.offset_bytes = end_bytes_;
    end_bytes_ += bytes;
    edges_ += segment.neighbors;
    segments_.push_back(segment);
  }
  file_.write({neighbors, bytes}, segment.offset_bytes);
}

void Lists::release(const Segment& segment) {
  file_.release(segment.offset_bytes, io::round_up_to_block(segment.neighbors * 4));
}

namespace {

constexpr size_t kEdgesPerBlock = 64 * 1024;

// An edge as a sort key: the list's node in the high half, the neighbour in the low half.
constexpr uint64_t edge_key(uint32_t node, uint32_t neighbor) {
  return (static_cast<uint64_t>(node) << 32) | neighbor;
}

// Buckets are ranges of 2^shift nodes; returns the smallest shift with at most `most_buckets`.
int bucket_shift(uint64_t nodes, size_t most_buckets) {
  int shift = 0;
  while (((nodes - 1) >> shift) >= most_buckets) ++shift;
  return shift;
}

// Puts every edge into the bucket of its list. Returns the number of self-loops, which are dropped.
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

// Turns ascending keys into neighbours, in place, and counts the lengths of the lists.
class ListCutter {
 public:
  ListCutter(Lists& lists, bool drop_duplicates)
      : lists_(lists), drop_duplicates_(drop_duplicates) {}

  void cut(std::span<uint64_t> keys) {
    if (keys.empty()) return;
    const auto degrees = lists_.degrees();
    auto* const out = reinterpret_cast<std::byte*>(keys.data());
    // The previous piece may have ended with the same key, or in the middle of the same list.
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
      // Never overtakes the key being read: a neighbour is half as wide as a key.
      std::memcpy(out + segment.neighbors * sizeof neighbor, &neighbor, sizeof neighbor);
      ++segment.neighbors;
    }
    lists_.add(segment, out);
  }

  uint64_t duplicates() const { return duplicates_; }

 private:
  Lists& lists_;
  bool drop_duplicates_;
  uint64_t previous_key_ = ~uint64_t{0};  // never an edge's key: it would be a self-loop
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
  // In an undirected graph a repeated edge is counted twice, once in each of its two lists.
  return {self_loops, duplicates / (undirected ? 2 : 1)};
}

namespace {

constexpr uint64_t kPieceBytes = kMiB;

// Writes offsets.u64 and divides the positions into ranges with about equally many edges. (Ranges
// with equally many nodes would be uneven: in hot-first order the long lists come first.) Returns
// the first position of each range.
std::vector<uint32_t> write_offsets(const Lists& lists, std::span<const uint32_t> ids,
                                    size_t most_buckets, graph::StoreWriter& writer) {
  io::FileWriter& file = writer.open_file("offsets.u64");
  const auto degrees = lists.degrees();
  const uint64_t edges_per_bucket = lists.edges() / most_buckets + 1;
  std::vector<uint32_t> first_positions = {0};
  uint64_t offset = 0;
  uint64_t bucket_begin = 0;
  for (uint64_t position = 0; position < ids.size(); ++position) {
    if (offset - bucket_begin >= edges_per_bucket) {
      first_positions.push_back(static_cast<uint32_t>(position));
      bucket_begin = offset;
    }
    file.append_values(std::span<const uint64_t>(&offset, 1));
    offset += degrees[ids[position]];
  }
  file.append_values(std::span<const uint64_t>(&offset, 1));
  writer.close_file();
  return first_positions;
}

// Renumbers every edge and puts it into the bucket of its list's position.
void renumber(Lists& lists, std::span<const uint32_t> positions,
              const std::vector<uint32_t>& first_positions, unsigned threads,
              const BuildContext& context, Spill& spill) {
  std::atomic<size_t> next = 0;
  context.progress.start_step("renumbering", "edges", lists.edges());
  run_team(threads, [&](Team& team) {
    memory::Buffer<std::byte> piece(context.ledger, "list pieces", kPieceBytes);
    KeyScatter scatter(context.ledger, spill);
    for (size_t i = next++; i < lists.segments().size() && !team.stopping(); i = next++) {
      const Segment& segment = lists.segments()[i];
      throw_if_interrupted();
      lists.visit(segment, piece.span(), [&](uint32_t node, std::span<const uint32_t> neighbors) {
        const uint32_t position = positions[node];
        const auto bucket =
            std::upper_bound(first_positions.begin(), first_positions.end(), position) -
            first_positions.begin() - 1;
        const uint64_t high = static_cast<uint64_t>(position) << 32;
        for (const uint32_t neighbor : neighbors) {
          scatter.put(static_cast<size_t>(bucket), high | positions[neighbor]);
        }
      });
      lists.release(segment);
      context.progress.add(segment.neighbors);
    }
    scatter.flush();
  });
  spill.seal();
}

// Turns keys into their neighbours, in place.
std::span<const std::byte> keep_neighbors(std::span<uint64_t> keys) {
  auto* const out = reinterpret_cast<std::byte*>(keys.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto neighbor = static_cast<uint32_t>(keys[i]);
    std::memcpy(out + i * sizeof neighbor, &neighbor, sizeof neighbor);
  }
  return {out, keys.size() * sizeof(uint32_t)};
}

}  // namespace

void write_lists(Lists& lists, std::span<const uint32_t> ids, std::span<const uint32_t> positions,
                 const BuildContext& context, graph::StoreWriter& writer) {
  const Distribution plan =
      plan_distribution({.total_bytes = lists.edges() * sizeof(uint64_t),
                         .record_bytes = sizeof(uint64_t),
                         .memory_bytes = context.ledger.available_bytes() - io::kStreamBytes,
                         .threads = context.threads});
  const std::vector<uint32_t> first_positions = write_offsets(lists, ids, plan.buckets, writer);
  Spill spill(context.ledger, {.temp = context.temp,
                               .buckets = first_positions.size(),
                               .record_bytes = sizeof(uint64_t),
                               .chunk_bytes = plan.chunk_bytes});
  renumber(lists, positions, first_positions, plan.threads, context, spill);

  io::FileWriter& file = writer.open_file("neighbors.u32");
  context.progress.start_step("writing lists", "edges", lists.edges());
  struct Item {
    SortWorkspace workspace;
    std::span<const std::byte> neighbors;
  };
  parallel_ordered(
      plan.threads, spill.buckets(),
      [&] {
        return Item{{context.ledger, plan.workspace_bytes, plan.chunk_bytes}, {}};
      },
      [&](Item& item, size_t bucket) {
        if (!fits(spill, bucket, item.workspace)) return;
        item.neighbors = keep_neighbors(load_sorted(spill, bucket, item.workspace));
      },
      [&](Item& item, size_t bucket) {
        if (fits(spill, bucket, item.workspace)) {
          file.append(item.neighbors);
        } else {
          const SortedSink sink = [&](std::span<uint64_t> keys) {
            file.append(keep_neighbors(keys));
          };
          const bool last = bucket + 1 == first_positions.size();
          const uint64_t end = last ? uint64_t{1} << 32 : first_positions[bucket + 1];
          const KeyRange range{static_cast<uint64_t>(first_positions[bucket]) << 32,
                               ((end - 1) << 32) | 0xffffffffU};
          stream_sorted(spill, bucket, range, {context.ledger, context.temp, item.workspace, sink});
        }
        context.progress.add(spill.bytes(bucket) / sizeof(uint64_t));
      });
  writer.close_file();
}

}  // namespace plimsoll::ingest
