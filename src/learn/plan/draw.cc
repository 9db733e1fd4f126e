// Reads a little of a store for its plan: some list bounds for the shape, and some neighbourhoods.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "base/error.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "batch/seeds.h"
#include "io/file.h"
#include "io/scattered_reader.h"
#include "plan/probe.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kMarks = 512;

// The distances grow: the exact position of a line matters more among hot rows than among cold
// ones.
std::vector<Mark> places(uint64_t nodes) {
  std::vector<Mark> marks = {{0, 0}};
  const double growth = std::pow(static_cast<double>(nodes) + 1, 1.0 / kMarks);
  double place = 1;
  for (uint64_t i = 0; i < kMarks; ++i) {
    place *= growth;
    const auto node = std::min(nodes, static_cast<uint64_t>(place));
    if (node > marks.back().node) marks.push_back({node, 0});
  }
  if (marks.back().node < nodes) marks.push_back({nodes, 0});
  return marks;
}

}  // namespace

StoreShape read_shape(const graph::Store& store, memory::Ledger& ledger) {
  const graph::Meta& meta = store.meta();
  StoreShape shape{.nodes = meta.nodes,
                   .edges = meta.edges,
                   .row_bytes = meta.row_bytes,
                   .columns = meta.input_columns(),
                   .classes = meta.classes,
                   .train_nodes = meta.split_sizes[0],
                   .evaluated_nodes = meta.split_sizes[1] + meta.split_sizes[2],
                   .first_layer = meta.first_layer,
                   .marks = places(meta.nodes)};
  io::ScatteredReader reader(ledger, {});
  reader.expect(shape.marks.size());
  for (size_t i = 0; i < shape.marks.size(); ++i) {
    reader.want(shape.marks[i].node * sizeof(uint64_t), i);
  }
  reader.read(io::open_rows(store.file("offsets.u64")), sizeof(uint64_t),
              [&](uint64_t i, const std::byte* value) {
                std::memcpy(&shape.marks[i].edges, value, sizeof(uint64_t));
              });
  return shape;
}

namespace {

constexpr uint64_t kSmallBytes = 32 * kMiB;  // of both files of the lists
constexpr uint64_t kReadsInMemory = 400'000;
constexpr uint64_t kFirstSeeds = 32;    // to find out what one seed costs
constexpr uint64_t kMostSeeds = 65536;  // if they cost nothing
constexpr uint64_t kDrawKey = 0x70726f6265;
constexpr uint64_t kMostOthers = 8 << 20;  // nodes of a split that are loaded to choose seeds from

sample::Topology open_topology(const graph::Store& store, bool in_memory, memory::Ledger& ledger) {
  if (!in_memory) return {store, ledger};
  return sample::load_topology(store, ledger, {}, 1, [](uint64_t) {});
}

memory::Buffer<uint32_t> load_split(const graph::Store& store, size_t split,
                                    memory::Ledger& ledger) {
  constexpr std::array<const char*, 3> kSplitFiles = {"split.train.u32", "split.valid.u32",
                                                      "split.test.u32"};
  return io::load_array<uint32_t>(ledger, "plan", store.file(kSplitFiles.at(split)),
                                  store.meta().split_sizes.at(split), 1,
                                  [](std::span<const uint32_t>) {});
}

// Draws one neighbourhood, of more and more seeds.
class ProbeDrawer {
 public:
  ProbeDrawer(const graph::Store& store, const recipe::Recipe& recipe, const DrawBudget& budget,
              memory::Ledger& ledger)
      : topology_(open_topology(store, budget.in_memory, ledger)),
        loaded_(budget.from.empty() ? load_split(store, 0, ledger) : memory::Buffer<uint32_t>()),
        train_nodes_(budget.from.empty() ? loaded_.span() : budget.from),
        batch_(budget.in_order ? recipe.batch_size : 0),
        fanout_(batch::drawn_fanout(recipe, store.meta().first_layer)),
        sampler_(topology_, {.fanout = fanout_, .draw = recipe.sampler}, ledger),
        neighborhood_(ledger, fanout_.size()) {
    if (train_nodes_.size() >= recipe.batch_size || !budget.from.empty()) return;
    for (const size_t split : {1, 2}) {
      const uint64_t nodes = store.meta().split_sizes.at(split);
      if (nodes == 0 || nodes > kMostOthers) continue;
      others_.push_back(load_split(store, split, ledger));
    }
  }

  uint64_t candidates() const {
    uint64_t count = train_nodes_.size();
    for (const auto& nodes : others_) count += nodes.size();
    return count;
  }
  size_t hops() const { return fanout_.size(); }

  // False if the ledger has too little memory.
  bool draw(uint64_t seeds) {
    std::vector<uint32_t> chosen;
    const auto choose = [&](std::span<const uint32_t> nodes) {
      const batch::Seeds shuffled = batch::Seeds::shuffled(nodes, kDrawKey);
      for (size_t i = 0; i < nodes.size() && chosen.size() < seeds; ++i) {
        chosen.push_back(shuffled.node(shuffled.place(i)));
      }
    };
    if (batch_ > 0) {
      choose_batches(seeds, chosen);
    } else {
      choose(train_nodes_);
    }
    for (const auto& nodes : others_) choose(nodes.span());
    try {
      sampler_.sample(chosen, kDrawKey, neighborhood_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      return false;
    }
    return true;
  }

  // In the last draw. A node takes two reads: the bounds of its list, and the list.
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
  // Whole batches in the order of the list: the first one, then others from all over the list. Not
  // the last one, if it is short: others are larger.
  void choose_batches(uint64_t seeds, std::vector<uint32_t>& chosen) const {
    const uint64_t whole = std::max<uint64_t>(1, train_nodes_.size() / batch_);
    const batch::Shuffle others(std::max<uint64_t>(1, whole - 1), kDrawKey);
    for (uint64_t i = 0; i < whole; ++i) {
      const uint64_t first = (i == 0 ? 0 : 1 + others.at(i - 1)) * batch_;
      const uint64_t end = std::min<uint64_t>(first + batch_, train_nodes_.size());
      for (uint64_t place = first; place < end; ++place) {
        if (chosen.size() == seeds) return;
        chosen.push_back(train_nodes_[place]);
      }
    }
  }

  // How many nodes had their lists read. These are the first nodes.
  uint64_t expanded() const {
    uint64_t count = 0;
    for (size_t i = 0; i < fanout_.size(); ++i) {
      if (fanout_[i] > 0) count = neighborhood_.hops[i].destinations;
    }
    return count;
  }

  sample::Topology topology_;
  memory::Buffer<uint32_t> loaded_;
  std::span<const uint32_t> train_nodes_;
  uint64_t batch_;  // seeds of a batch in order; 0: the order is random
  // If the training nodes are fewer than a batch: batches of evaluations are larger.
  std::vector<memory::Buffer<uint32_t>> others_;
  std::vector<uint32_t> fanout_;
  sample::Sampler sampler_;
  sample::Neighborhood neighborhood_;
};

}  // namespace

DrawBudget draw_budget(const graph::Store& store, uint64_t disk_reads) {
  const auto& files = store.meta().files;
  const bool small = files.at("offsets.u64").bytes + files.at("neighbors.u32").bytes <= kSmallBytes;
  return {.reads = small ? kReadsInMemory : disk_reads, .in_memory = small};
}

Draws draw(const graph::Store& store, const recipe::Recipe& recipe, const DrawBudget& budget,
           memory::Ledger& ledger) {
  ProbeDrawer drawer(store, recipe, budget, ledger);
  Draws none;
  none.hops.resize(drawer.hops());
  uint64_t seeds = std::min(drawer.candidates(), kFirstSeeds);
  while (seeds > 0 && !drawer.draw(seeds)) seeds /= 2;
  if (seeds == 0) return none;
  Draws draws = drawer.drawn();
  const auto affordable =
      static_cast<double>(budget.reads) / std::max(drawer.reads_a_seed(), 1.0 / kMostSeeds);
  const uint64_t most = std::min(drawer.candidates(), kMostSeeds);
  const auto wanted = static_cast<uint64_t>(std::min(affordable, static_cast<double>(most)));
  for (uint64_t count = wanted; count > seeds; count /= 2) {
    if (drawer.draw(count)) return drawer.drawn();
  }
  return draws;
}

}  // namespace plimsoll::plan
