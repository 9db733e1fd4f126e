#include "plan/probe.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "batch/assemble.h"
#include "batch/seeds.h"
#include "io/file.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kMostBatches = 1024;  // for the average
constexpr size_t kGrowTogether = 32;     // stretches between marks; a single one has too few visits

// Sums over some batches, to be divided by their number.
struct Sums {
  explicit Sums(size_t hops, size_t stretches)
      : destinations(hops),
        edges(hops),
        visited(stretches),
        expanded(stretches),
        list_reads(stretches) {}
  double nodes = 0;
  std::vector<double> destinations;
  std::vector<double> edges;
  std::vector<double> visited;
  std::vector<double> expanded;
  std::vector<double> list_reads;

  void divide(double by) {
    nodes /= by;
    for (auto* values : {&destinations, &edges, &visited, &expanded, &list_reads}) {
      for (double& value : *values) value /= by;
    }
  }
};

// How many reads `picks` random values of a list take: one for every run of adjacent sectors that
// contain a pick.
double reads_of_list(uint32_t degree, uint32_t picks) {
  if (picks == 0) return 0;
  constexpr double kValuesPerSector = 128;
  const double sectors = 1 + (degree - 1) / kValuesPerSector;  // lists begin anywhere in a sector
  const double met = 1 - std::pow(1 - 1 / sectors, picks);
  return met + (sectors - 1) * met * (1 - met);
}

// Takes batches from the draws and counts them.
class Cutter {
 public:
  Cutter(const Draws& draws, const StoreShape& store)
      : draws_(draws), stretches_(store.marks.size() - 1), met_(draws.nodes.size()) {
    stretch_.reserve(draws.nodes.size());
    for (const uint32_t node : draws.nodes) {
      const auto after =
          std::upper_bound(store.marks.begin(), store.marks.end(), node,
                           [](uint64_t value, const Mark& mark) { return value < mark.node; });
      stretch_.push_back(static_cast<uint32_t>(std::clamp<ptrdiff_t>(
          after - store.marks.begin() - 1, 0, static_cast<ptrdiff_t>(stretches_) - 1)));
    }
  }

  Sums none() const { return Sums(draws_.hops.size(), stretches_); }

  // Adds the batch of the `count` seeds from `first` on to the sums.
  BatchSize cut(uint64_t first, uint64_t count, Sums& sums) {
    ++batch_;
    members_.clear();
    for (uint64_t i = first; i < first + count; ++i) meet(static_cast<uint32_t>(i));
    BatchSize size{.seeds = count};
    for (size_t hop = 0; hop < draws_.hops.size(); ++hop) {
      const Draws::Hop& drawn = draws_.hops[hop];
      const size_t destinations = members_.size();
      uint64_t edges = 0;
      for (size_t i = 0; i < destinations; ++i) {
        const uint32_t node = members_[i];
        for (uint32_t e = drawn.offsets[node]; e < drawn.offsets[node + 1]; ++e) {
          meet(drawn.indices[e]);
        }
        const uint32_t picks = drawn.offsets[node + 1] - drawn.offsets[node];
        sums.list_reads[stretch_[node]] += reads_of_list(draws_.degrees[node], picks);
        edges += picks;
      }
      size.hops.push_back({destinations, edges});
      sums.destinations[hop] += static_cast<double>(destinations);
      sums.edges[hop] += static_cast<double>(edges);
    }
    size.nodes = members_.size();
    sums.nodes += static_cast<double>(size.nodes);
    for (size_t i = 0; i < members_.size(); ++i) {
      sums.visited[stretch_[members_[i]]] += 1;
      if (i < size.expanded()) sums.expanded[stretch_[members_[i]]] += 1;
    }
    return size;
  }

 private:
  void meet(uint32_t node) {
    if (met_[node] == batch_) return;
    met_[node] = batch_;
    members_.push_back(node);
  }

  const Draws& draws_;
  size_t stretches_;
  std::vector<uint32_t> stretch_;  // of every node
  std::vector<uint32_t> met_;      // of every node: the last batch that met it
  std::vector<uint32_t> members_;
  uint32_t batch_ = 0;
};

void keep_larger(BatchSize& largest, const BatchSize& size) {
  if (largest.hops.empty()) largest.hops.resize(size.hops.size());
  largest.seeds = std::max(largest.seeds, size.seeds);
  largest.nodes = std::max(largest.nodes, size.nodes);
  for (size_t i = 0; i < size.hops.size(); ++i) {
    largest.hops[i].destinations =
        std::max(largest.hops[i].destinations, size.hops[i].destinations);
    largest.hops[i].edges = std::max(largest.hops[i].edges, size.hops[i].edges);
  }
}

uint64_t whole(double value) { return static_cast<uint64_t>(std::ceil(value)); }

BatchSize rounded_up(uint64_t seeds, const Sums& sums) {
  BatchSize size{.seeds = seeds, .nodes = whole(sums.nodes)};
  for (size_t i = 0; i < sums.edges.size(); ++i) {
    size.hops.push_back({whole(sums.destinations[i]), whole(sums.edges[i])});
  }
  return size;
}

// A few seeds may all have small neighbourhoods by chance. So add two standard errors; the standard
// deviation of a neighbourhood's size is about its mean.
BatchSize with_margin(BatchSize size, const Draws& draws, const StoreShape& store) {
  const double margin = 1 + 2 / std::sqrt(static_cast<double>(draws.seeds));
  const auto more = [&](uint64_t value, uint64_t most) {
    return std::min(whole(static_cast<double>(value) * margin), most);
  };
  if (!size.hops.empty()) size.nodes = more(size.nodes, store.nodes);
  for (size_t i = 0; i < size.hops.size(); ++i) {
    HopSize& hop = size.hops[i];
    if (i > 0) hop.destinations = more(hop.destinations, store.nodes);
    hop.edges = more(hop.edges, store.edges);
  }
  return size;
}

// Adds one visit to all that was drawn, spread evenly over all nodes: a node that was not seen may
// still be visited.
void add_unseen(const Draws& draws, const StoreShape& store, uint64_t seeds,
                std::vector<double>& visits) {
  const double one = static_cast<double>(seeds) / static_cast<double>(draws.seeds);
  for (size_t i = 0; i < visits.size(); ++i) {
    const auto nodes = static_cast<double>(store.marks[i + 1].node - store.marks[i].node);
    visits[i] += one * nodes / static_cast<double>(store.nodes);
  }
}

// By how much a value grows when the number of seeds grows by `factor`. It was `half` with half of
// the seeds and `all` with all of them.
double growth(double half, double all, double factor) {
  if (half <= 0 || all <= 0) return factor;
  return std::pow(factor, std::clamp(std::log2(all / half), 0.0, 1.0));
}

void grow(const std::vector<double>& half, double factor, std::vector<double>& visits) {
  for (size_t first = 0; first < visits.size(); first += kGrowTogether) {
    const size_t last = std::min(visits.size(), first + kGrowTogether);
    const auto sum = [&](const std::vector<double>& values) {
      return std::accumulate(values.begin() + static_cast<ptrdiff_t>(first),
                             values.begin() + static_cast<ptrdiff_t>(last), 0.0);
    };
    const double by = growth(sum(half), sum(visits), factor);
    for (size_t i = first; i < last; ++i) visits[i] *= by;
  }
}

// For a batch with more seeds than were sampled.
Probe extrapolate(const Draws& draws, const StoreShape& store, uint64_t seeds) {
  Cutter cutter(draws, store);
  Sums sums = cutter.none();
  cutter.cut(0, draws.seeds, sums);
  const uint64_t half_seeds = std::max<uint64_t>(1, draws.seeds / 2);
  Sums half = cutter.none();
  cutter.cut(0, half_seeds, half);
  cutter.cut(draws.seeds - half_seeds, half_seeds, half);
  half.divide(2);
  if (draws.seeds == 1) half.divide(2);  // assume that sizes are proportional to the seeds
  const double factor = static_cast<double>(seeds) / static_cast<double>(draws.seeds);
  for (size_t i = 0; i < sums.edges.size(); ++i) {
    sums.edges[i] = std::min(sums.edges[i] * growth(half.edges[i], sums.edges[i], factor),
                             static_cast<double>(store.edges));
    sums.destinations[i] =
        i == 0 ? static_cast<double>(seeds)
               : std::min(sums.destinations[i] *
                              growth(half.destinations[i], sums.destinations[i], factor),
                          static_cast<double>(store.nodes));
  }
  grow(half.visited, factor, sums.visited);
  grow(half.expanded, factor, sums.expanded);
  grow(half.list_reads, factor, sums.list_reads);
  for (size_t i = 0; i < sums.visited.size(); ++i) {
    const auto nodes = static_cast<double>(store.marks[i + 1].node - store.marks[i].node);
    sums.visited[i] = std::min(sums.visited[i], nodes);
    sums.expanded[i] = std::min(sums.expanded[i], nodes);
  }
  const auto sum = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  if (!sums.destinations.empty()) {
    sums.destinations.back() = std::max(sum(sums.expanded), static_cast<double>(seeds));
  }
  sums.nodes = std::max(sum(sums.visited), static_cast<double>(seeds));
  for (const double destinations : sums.destinations) {
    sums.nodes = std::max(sums.nodes, destinations);
  }
  const BatchSize size = rounded_up(seeds, sums);
  return {.batch = size,
          .largest = size,
          .visited = std::move(sums.visited),
          .expanded = std::move(sums.expanded),
          .list_reads = std::move(sums.list_reads)};
}

// For a batch with at most as many seeds as were sampled.
Probe take_average(const Draws& draws, const StoreShape& store, uint64_t seeds) {
  Cutter cutter(draws, store);
  Sums sums = cutter.none();
  Probe probe;
  const uint64_t of_training = std::max<uint64_t>(1, store.train_nodes / seeds);
  const uint64_t batches = std::min({draws.seeds / seeds, kMostBatches, of_training});
  for (uint64_t i = 0; i < batches; ++i) {
    keep_larger(probe.largest, cutter.cut(i * seeds, seeds, sums));
  }
  sums.divide(static_cast<double>(batches));
  probe.batch = rounded_up(seeds, sums);
  probe.visited = std::move(sums.visited);
  probe.expanded = std::move(sums.expanded);
  probe.list_reads = std::move(sums.list_reads);
  return probe;
}

// If even one seed did not fit into memory, assume that a batch reaches the whole graph.
Probe everything(const Draws& draws, const StoreShape& store, uint64_t seeds) {
  Probe probe;
  BatchSize& size = probe.batch;
  size = {.seeds = seeds, .nodes = store.nodes};
  for (size_t i = 0; i < draws.hops.size(); ++i) {
    size.hops.push_back({i == 0 ? seeds : store.nodes, store.edges});
  }
  probe.largest = size;
  for (size_t i = 0; i + 1 < store.marks.size(); ++i) {
    probe.visited.push_back(static_cast<double>(store.marks[i + 1].node - store.marks[i].node));
  }
  probe.expanded = probe.visited;
  probe.list_reads = probe.visited;
  return probe;
}

Probe expect_drawn_batch(const Draws& draws, const StoreShape& store, uint64_t batch_size) {
  const uint64_t seeds = std::min(batch_size, store.train_nodes);
  if (seeds == 0) {
    Probe none;
    none.batch.hops.resize(draws.hops.size());
    none.largest = none.batch;
    none.visited.resize(store.marks.size() - 1);
    none.expanded = none.visited;
    none.list_reads = none.visited;
    return none;
  }
  if (draws.seeds == 0) return everything(draws, store, seeds);
  const auto expect = [&](uint64_t count) {
    return count > draws.seeds ? extrapolate(draws, store, count)
                               : take_average(draws, store, count);
  };
  Probe probe = expect(seeds);
  const uint64_t most = std::min(batch_size, store.largest_pass());
  if (most > seeds) probe.evaluated = with_margin(expect(most).largest, draws, store);
  probe.largest = with_margin(std::move(probe.largest), draws, store);
  add_unseen(draws, store, seeds, probe.visited);
  if (draws.hops.empty()) return probe;
  add_unseen(draws, store, seeds, probe.expanded);
  add_unseen(draws, store, seeds, probe.list_reads);
  return probe;
}

StoreShape shrunk(const StoreShape& store, double scale) {
  const auto part = [&](uint64_t count) {
    return static_cast<uint64_t>(std::llround(static_cast<double>(count) / scale));
  };
  StoreShape small = store;
  small.nodes = part(store.nodes);
  small.edges = part(store.edges);
  small.train_nodes = std::max<uint64_t>(1, part(store.train_nodes));
  small.evaluated_nodes = part(store.evaluated_nodes);
  small.asked_nodes = part(store.asked_nodes);
  for (Mark& mark : small.marks) mark = {part(mark.node), part(mark.edges)};
  return small;
}

void enlarge(BatchSize& size, double times, uint64_t seeds) {
  const auto more = [&](uint64_t count) { return whole(static_cast<double>(count) * times); };
  size.seeds = seeds;
  size.nodes = std::max(seeds, more(size.nodes));
  for (size_t i = 0; i < size.hops.size(); ++i) {
    size.hops[i] = {i == 0 ? seeds : more(size.hops[i].destinations), more(size.hops[i].edges)};
  }
}

}  // namespace

// In a graph with 1/100 of the nodes, the seeds of 1/100 of a batch share as many neighbours as the
// seeds of the whole batch do in the whole graph. So its content is 1/100, too.
Probe expect_batch(const Draws& draws, const StoreShape& store, uint64_t batch_size) {
  if (draws.scale <= 1) return expect_drawn_batch(draws, store, batch_size);
  const uint64_t seeds = std::min(batch_size, store.train_nodes);
  const auto part =
      std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(seeds) / draws.scale));
  Probe probe = expect_drawn_batch(draws, shrunk(store, draws.scale), part);
  const double times = static_cast<double>(seeds) / static_cast<double>(part);
  enlarge(probe.batch, times, seeds);
  enlarge(probe.largest, times, seeds);
  const uint64_t most = std::min(batch_size, store.largest_pass());
  if (most > seeds) {
    probe.evaluated = probe.largest;
    enlarge(*probe.evaluated, static_cast<double>(most) / static_cast<double>(seeds), most);
  }
  for (auto* visits : {&probe.visited, &probe.expanded, &probe.list_reads}) {
    for (double& count : *visits) count *= times;
  }
  return probe;
}

}  // namespace plimsoll::plan
