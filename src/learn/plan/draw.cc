#include "plan/draw.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "batch/first_layer.h"
#include "batch/seeds.h"
#include "io/load.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kFirstSeeds = 32;    // tell what one costs
constexpr uint64_t kMostSeeds = 65536;  // where they cost nothing
constexpr uint64_t kDrawKey = 0x70726f6265;

class Drawer {
 public:
  Drawer(const graph::Store& store, const recipe::Recipe& recipe, memory::Ledger& ledger)
      : topology_(store, ledger),
        train_nodes_(io::load_array<uint32_t>(ledger, "plan", store.file("split.train.u32"),
                                              store.meta().split_sizes[0], 1,
                                              [](std::span<const uint32_t>) {})),
        fanout_(batch::drawn_fanout(recipe, store.meta().first_layer)),
        sampler_(topology_, {.fanout = fanout_, .draw = recipe.sampler}, ledger),
        neighborhood_(ledger, fanout_.size()) {}

  uint64_t train_nodes() const { return train_nodes_.size(); }
  size_t hops() const { return fanout_.size(); }

  // False where the ledger is too small for it.
  bool draw(uint64_t seeds) {
    const batch::Seeds shuffled = batch::Seeds::shuffled(train_nodes_.span(), kDrawKey);
    std::vector<uint32_t> chosen(seeds);
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = shuffled.node(shuffled.place(i));
    try {
      sampler_.sample(chosen, kDrawKey, neighborhood_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      return false;
    }
    return true;
  }

  // Of the last draw. A node has two places on disk: where its list begins, and the list.
  double reads_a_seed() const {
    return 2.0 * static_cast<double>(expanded()) / static_cast<double>(neighborhood_.seeds);
  }

  Draws drawn() const {
    const auto copy = [](const auto& array, uint64_t count) {
      const auto values = array.first(count);
      return std::vector<uint32_t>(values.begin(), values.end());
    };
    Draws draws{.seeds = neighborhood_.seeds,
                .nodes = copy(neighborhood_.nodes, neighborhood_.node_count())};
    if (!neighborhood_.hops.empty()) {
      draws.degrees = copy(neighborhood_.degrees, expanded());
      draws.degrees.resize(neighborhood_.hops.back().destinations);
    }
    for (const sample::Hop& hop : neighborhood_.hops) {
      draws.hops.push_back({.destinations = hop.destinations,
                            .offsets = copy(hop.offsets, uint64_t{hop.destinations} + 1),
                            .indices = copy(hop.indices, hop.edges())});
    }
    return draws;
  }

 private:
  // The nodes whose lists were looked at: the first of them.
  uint64_t expanded() const {
    uint64_t count = 0;
    for (size_t i = 0; i < fanout_.size(); ++i) {
      if (fanout_[i] > 0) count = neighborhood_.hops[i].destinations;
    }
    return count;
  }

  sample::Topology topology_;
  memory::Buffer<uint32_t> train_nodes_;
  std::vector<uint32_t> fanout_;
  sample::Sampler sampler_;
  sample::Neighborhood neighborhood_;
};

}  // namespace

Draws draw(const graph::Store& store, const recipe::Recipe& recipe, uint64_t most_reads,
           memory::Ledger& ledger) {
  Drawer drawer(store, recipe, ledger);
  Draws none;
  none.hops.resize(drawer.hops());
  uint64_t seeds = std::min(drawer.train_nodes(), kFirstSeeds);
  while (seeds > 0 && !drawer.draw(seeds)) seeds /= 2;
  if (seeds == 0) return none;
  Draws draws = drawer.drawn();
  const auto affordable =
      static_cast<double>(most_reads) / std::max(drawer.reads_a_seed(), 1.0 / kMostSeeds);
  const uint64_t most = std::min(drawer.train_nodes(), kMostSeeds);
  const auto wanted = static_cast<uint64_t>(std::min(affordable, static_cast<double>(most)));
  if (wanted > seeds && drawer.draw(wanted)) draws = drawer.drawn();
  return draws;
}

}  // namespace plimsoll::plan
