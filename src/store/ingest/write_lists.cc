#include "ingest/write_lists.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/units.h"
#include "ingest/build_plan.h"
#include "ingest/key_sort.h"
#include "ingest/spill.h"

namespace plimsoll::ingest {
namespace {

constexpr uint64_t kPieceBytes = kMiB;

// Writes offsets.u64 and cuts the positions into ranges of about as many edges each: hot-first puts
// the long lists first, so ranges of as many nodes would be far from even. Returns the ranges'
// first positions.
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

// Every edge, renumbered, into the bucket of its list's position.
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

// Keeps the neighbours of ascending keys, in the same memory.
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
