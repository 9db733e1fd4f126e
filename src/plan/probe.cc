#include "plan/probe.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/random.h"
#include "batch/seeds.h"
#include "io/load.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kFirstSeeds = 32;
constexpr uint64_t kProbeKey = 0x70726f6265;

struct Drawn {
  BatchSize size;
  std::vector<uint32_t> visited;
  std::vector<uint32_t> expanded;

  uint64_t lists() const { return expanded.size(); }
};

class Prober {
 public:
  Prober(const graph::Store& store, const recipe::Recipe& recipe, memory::Ledger& ledger)
      : topology_(store, ledger),
        nodes_(io::load_array<uint32_t>(ledger, "plan", store.file("split.train.u32"),
                                        store.meta().split_sizes[0], 1,
                                        [](std::span<const uint32_t>) {})),
        fanout_(recipe.model == recipe::ModelKind::mlp ? std::vector<uint32_t>() : recipe.fanout),
        sampler_(topology_, {.fanout = fanout_}, ledger),
        neighborhood_(ledger, fanout_.size()) {}

  // Nothing where the ledger is too small for it.
  std::optional<Drawn> draw(uint64_t seeds) {
    const batch::Seeds shuffled = batch::Seeds::shuffled(nodes_.span(), kProbeKey);
    std::vector<uint32_t> chosen(std::min(seeds, shuffled.size()));
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = shuffled.node(shuffled.place(i));
    try {
      sampler_.sample(chosen, kProbeKey, neighborhood_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      return {};
    }
    Drawn drawn;
    drawn.size = {.seeds = chosen.size(), .nodes = neighborhood_.node_count()};
    for (const sample::Hop& hop : neighborhood_.hops) {
      drawn.size.hops.push_back({hop.destinations, hop.edges()});
    }
    const auto nodes = neighborhood_.nodes.first(neighborhood_.node_count());
    drawn.visited.assign(nodes.begin(), nodes.end());
    if (!neighborhood_.hops.empty()) {
      const auto inner = nodes.first(neighborhood_.hops.back().destinations);
      drawn.expanded.assign(inner.begin(), inner.end());
    }
    return drawn;
  }

 private:
  sample::Topology topology_;
  memory::Buffer<uint32_t> nodes_;
  std::vector<uint32_t> fanout_;
  sample::Sampler sampler_;
  sample::Neighborhood neighborhood_;
};

uint64_t grown(uint64_t value, double factor, double exponent, uint64_t most) {
  const double result = static_cast<double>(value) * std::pow(factor, exponent);
  return result >= static_cast<double>(most) ? most : static_cast<uint64_t>(std::ceil(result));
}

// value(large) / value(small) = (seeds ratio) ^ exponent
double exponent_of(uint64_t small, uint64_t large, double ratio) {
  if (small == 0 || large == 0 || ratio <= 1) return 1;
  return std::clamp(
      std::log(static_cast<double>(large) / static_cast<double>(small)) / std::log(ratio), 0.1,
      1.0);
}

}  // namespace

double Probe::share_below(const std::vector<uint32_t>& positions, uint64_t node) {
  if (positions.empty()) return 1;
  const auto below = std::lower_bound(positions.begin(), positions.end(), node);
  return static_cast<double>(below - positions.begin()) / static_cast<double>(positions.size());
}

Probe probe(const graph::Store& store, const recipe::Recipe& recipe, uint64_t most_reads,
            memory::Ledger& ledger) {
  const uint64_t train_nodes = store.meta().split_sizes[0];
  const uint64_t wanted = std::min(recipe.batch_size, std::max<uint64_t>(1, train_nodes));
  Prober prober(store, recipe, ledger);
  // A few seeds tell what one costs; then as many as the reads allow, and half of them, which tells
  // how sizes grow.
  std::optional<Drawn> small;
  uint64_t first = std::min(wanted, kFirstSeeds);
  for (; first > 0 && !(small = prober.draw(first)); first /= 2) {
  }
  if (!small) {
    // One seed reaches more than we may hold: then a batch may reach everything.
    Probe all;
    all.batch = {wanted, store.meta().nodes, {}};
    for (size_t i = 0; i < recipe.fanout.size(); ++i) {
      all.batch.hops.push_back({i == 0 ? wanted : store.meta().nodes, store.meta().edges});
    }
    return all;
  }
  const double reads_a_seed =
      2.0 * static_cast<double>(small->lists()) / static_cast<double>(small->size.seeds);
  const auto affordable =
      static_cast<uint64_t>(static_cast<double>(most_reads) / std::max(1.0, reads_a_seed));
  const uint64_t seeds = std::clamp<uint64_t>(affordable, small->size.seeds, wanted);
  std::optional<Drawn> large;
  if (seeds > small->size.seeds) large = prober.draw(seeds);
  if (!large) large = small;
  Probe result{.batch = large->size,
               .visited = std::move(large->visited),
               .expanded = std::move(large->expanded)};
  std::sort(result.visited.begin(), result.visited.end());
  std::sort(result.expanded.begin(), result.expanded.end());
  if (large->size.seeds == wanted) return result;
  const double ratio =
      static_cast<double>(large->size.seeds) / static_cast<double>(small->size.seeds);
  const double factor = static_cast<double>(wanted) / static_cast<double>(large->size.seeds);
  BatchSize& batch = result.batch;
  const graph::Meta& meta = store.meta();
  for (size_t i = 0; i < batch.hops.size(); ++i) {
    const HopSize& before = small->size.hops[i];
    HopSize& hop = batch.hops[i];
    hop.edges = grown(hop.edges, factor, exponent_of(before.edges, hop.edges, ratio), meta.edges);
    hop.destinations = grown(hop.destinations, factor,
                             exponent_of(before.destinations, hop.destinations, ratio), meta.nodes);
  }
  batch.nodes =
      grown(batch.nodes, factor, exponent_of(small->size.nodes, batch.nodes, ratio), meta.nodes);
  batch.seeds = wanted;
  return result;
}

}  // namespace plimsoll::plan
