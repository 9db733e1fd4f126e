#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/units.h"
#include "ingest/passes.h"

namespace plimsoll::ingest {
namespace {

// Visits are summed as integers, in units of 2^-20: integers have the same sum in any order, so the
// result does not depend on the number of threads. One node can have up to 10^13 visits.
constexpr double kVisitUnits = 1048576.0;
constexpr uint64_t kListPieceBytes = kMiB;
constexpr size_t kPrefetchAhead = 16;

// received[u] += given[v] over all lists v and their members u.
void pass_visits_on(const Lists& lists, std::span<const float> given, std::span<uint64_t> received,
                    const BuildContext& context) {
  std::atomic<size_t> next = 0;
  run_team(context.threads, [&](Team& team) {
    memory::Buffer<std::byte> piece(context.ledger, "list pieces", kListPieceBytes);
    for (size_t i = next++; i < lists.segments().size() && !team.stopping(); i = next++) {
      const Segment& segment = lists.segments()[i];
      throw_if_interrupted();
      lists.visit(segment, piece.span(), [&](uint32_t node, std::span<const uint32_t> neighbors) {
        const auto units = static_cast<uint64_t>(std::llround(given[node] * kVisitUnits));
        if (units == 0) return;
        for (size_t j = 0; j < neighbors.size(); ++j) {
          if (j + kPrefetchAhead < neighbors.size()) {
            __builtin_prefetch(&received[neighbors[j + kPrefetchAhead]], 1);
          }
          std::atomic_ref<uint64_t>(received[neighbors[j]])
              .fetch_add(units, std::memory_order_relaxed);
        }
      });
      context.progress.add(segment.neighbors);
    }
  });
}

// values[node] = function(node) for all nodes, in parallel.
template <typename T, typename Function>
void fill_by_node(std::span<T> values, unsigned threads, Function function) {
  constexpr uint64_t kNodesPerPiece = 1 << 20;
  const uint64_t pieces = (values.size() + kNodesPerPiece - 1) / kNodesPerPiece;
  parallel_for(threads, pieces, [&](size_t piece) {
    const uint64_t end = std::min<uint64_t>(values.size(), (piece + 1) * kNodesPerPiece);
    for (uint64_t node = piece * kNodesPerPiece; node < end; ++node) values[node] = function(node);
  });
}

memory::Buffer<float> expected_visits(const Lists& lists, std::span<const uint8_t> in_split,
                                      const BuildContext& context) {
  const auto degrees = lists.degrees();
  memory::Buffer<float> visits(context.ledger, "visits", lists.nodes());
  memory::Buffer<float> given(context.ledger, "visits", lists.nodes());
  memory::Buffer<uint64_t> received(context.ledger, "visits", lists.nodes());
  const auto sampled_share = [&](uint64_t node, double arriving) {
    const uint32_t degree = degrees[node];
    const double share = degree <= kHotFanout ? 1.0 : static_cast<double>(kHotFanout) / degree;
    return static_cast<float>(arriving * share);
  };
  fill_by_node(visits.span(), context.threads,
               [&](uint64_t node) { return in_split[node] != 0 ? 1.0F : 0.0F; });
  fill_by_node(given.span(), context.threads,
               [&](uint64_t node) { return sampled_share(node, visits[node]); });
  for (int hop = 0; hop < kHotHops; ++hop) {
    pass_visits_on(lists, given.span(), received.span(), context);
    fill_by_node(given.span(), context.threads, [&](uint64_t node) {
      const double arrived = static_cast<double>(received[node]) / kVisitUnits;
      received[node] = 0;
      visits[node] += static_cast<float>(arrived);
      return sampled_share(node, arrived);
    });
  }
  return visits;
}

memory::Buffer<float> lists_holding(const Lists& lists, const BuildContext& context) {
  memory::Buffer<float> visits(context.ledger, "visits", lists.nodes());
  memory::Buffer<float> given(context.ledger, "visits", lists.nodes());
  memory::Buffer<uint64_t> received(context.ledger, "visits", lists.nodes());
  std::fill(given.begin(), given.end(), 1.0F);
  pass_visits_on(lists, given.span(), received.span(), context);
  fill_by_node(visits.span(), context.threads, [&](uint64_t node) {
    return static_cast<float>(static_cast<double>(received[node]) / kVisitUnits);
  });
  return visits;
}

// Sorts in place: splits the keys at the median and sorts the halves in different threads.
void parallel_sort(std::span<uint64_t> keys, unsigned threads) {
  if (threads < 2 || keys.size() < 100'000) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  const size_t middle = keys.size() / 2;
  std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(middle), keys.end());
  std::jthread other([&] { parallel_sort(keys.first(middle), threads / 2); });
  parallel_sort(keys.subspan(middle), threads - threads / 2);
}

// A key whose ascending order puts large values first; the id makes it unique.
uint64_t falling_key(uint32_t value, uint32_t id) {
  return (static_cast<uint64_t>(~value) << 32) | id;
}

void sort_by_visits(const Lists& lists, memory::Buffer<float> visits, HotOrder& order,
                    const BuildContext& context) {
  const uint64_t nodes = lists.nodes();
  memory::Buffer<uint64_t> keys(context.ledger, "sort keys", nodes);
  // The bits of floats that are not negative have the same order as the floats.
  fill_by_node(keys.span(), context.threads, [&](uint64_t node) {
    return falling_key(std::bit_cast<uint32_t>(visits[node]), static_cast<uint32_t>(node));
  });
  visits = {};
  parallel_sort(keys.span(), context.threads);
  // Nodes with equal visits are sorted by degree. The long run of unvisited nodes is sorted in
  // parallel.
  const auto degrees = lists.degrees();
  for (uint64_t begin = 0; begin < nodes;) {
    const uint64_t high = keys[begin] >> 32;
    uint64_t end = begin + 1;
    while (end < nodes && keys[end] >> 32 == high) ++end;
    if (end - begin > 1) {
      const auto run = keys.span().subspan(begin, end - begin);
      for (uint64_t& key : run) {
        const auto id = static_cast<uint32_t>(key);
        key = falling_key(degrees[id], id);
      }
      parallel_sort(run, context.threads);
      for (uint64_t& key : run) key = (high << 32) | static_cast<uint32_t>(key);
    }
    begin = end;
  }
  order.ids = memory::Buffer<uint32_t>(context.ledger, "node order", nodes);
  order.hotness = memory::Buffer<float>(context.ledger, "hotness", nodes);
  for (uint64_t position = 0; position < nodes; ++position) {
    const uint64_t key = keys[position];
    order.ids[position] = static_cast<uint32_t>(key);
    order.hotness[position] = std::bit_cast<float>(~static_cast<uint32_t>(key >> 32));
  }
}

}  // namespace

HotOrder find_hot_order(const Lists& lists, std::span<const uint8_t> in_split,
                        graph::NodeOrder wanted, const BuildContext& context) {
  const uint64_t nodes = lists.nodes();
  const bool has_splits =
      std::any_of(in_split.begin(), in_split.end(), [](uint8_t role) { return role != 0; });
  const bool by_visits = has_splits && wanted != graph::NodeOrder::degree;
  HotOrder order;
  order.by = has_splits || wanted == graph::NodeOrder::original ? wanted : graph::NodeOrder::degree;
  context.progress.start_step("finding hot nodes", "edges",
                              lists.edges() * (by_visits ? kHotHops : 1));
  memory::Buffer<float> visits =
      by_visits ? expected_visits(lists, in_split, context) : lists_holding(lists, context);

  context.progress.start_step("ordering nodes", "nodes", nodes);
  if (order.by == graph::NodeOrder::original) {
    order.ids = memory::Buffer<uint32_t>(context.ledger, "node order", nodes);
    std::iota(order.ids.begin(), order.ids.end(), 0U);
    order.hotness = std::move(visits);
  } else {
    sort_by_visits(lists, std::move(visits), order, context);
  }
  context.progress.add(nodes);
  return order;
}

}  // namespace plimsoll::ingest
