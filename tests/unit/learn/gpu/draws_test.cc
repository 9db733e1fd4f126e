// The code that a GPU runs, run on the CPU: its draws are those of the sampler, and its sums those
// of plain arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "gpu/device_batch.h"
#include "gpu/host_accelerator.h"
#include "gpu/network.h"
#include "sample/drawn.h"
#include "sample/sampler.h"
#include "sample/small_graph.h"

namespace plimsoll::gpu {
namespace {

using sample::FlatLists;

constexpr uint32_t kNodes = 300;
constexpr uint32_t kColumns = 7;

// Lists of very different length: none, short, and longer than any fan-out.
sample::Lists uneven_lists() {
  sample::Lists lists(kNodes);
  for (uint32_t node = 0; node < kNodes; ++node) {
    const RandomStream random(node, 1);
    const uint64_t length = node % 7 == 0 ? 0 : (node % 5 == 0 ? 150 : random.at(0) % 12);
    for (uint64_t i = 0; i < length; ++i) {
      lists[node].push_back(static_cast<uint32_t>((node + 1 + i) % kNodes));
    }
  }
  return lists;
}

float feature(uint32_t node, uint32_t column) {
  return static_cast<float>(unit_interval(RandomStream(node, 7).at(column)) - 0.5);
}

// A file whose bytes lie in two arrays, as those of a GPU and of the host.
class SplitFile {
 public:
  template <typename T>
  SplitFile(const std::vector<T>& values, uint64_t line_values) : line_(line_values * sizeof(T)) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
    near_.assign(bytes, bytes + line_);
    far_.assign(bytes + line_, bytes + values.size() * sizeof(T));
  }
  LinedBytes bytes() const { return {near_.data(), far_.data(), line_}; }

 private:
  uint64_t line_;
  std::vector<uint8_t> near_;
  std::vector<uint8_t> far_;
};

struct SmallStore {
  SmallStore()
      : lists(uneven_lists()),
        flat(sample::flatten(lists)),
        offsets(flat.offsets, 100),
        neighbors(flat.neighbors, 500),
        rows(features(), 120 * kColumns) {}

  static std::vector<float> features() {
    std::vector<float> values;
    for (uint32_t node = 0; node < kNodes; ++node) {
      for (uint32_t column = 0; column < kColumns; ++column)
        values.push_back(feature(node, column));
    }
    return values;
  }
  StoreView view() const {
    return {
        .lists = {offsets.bytes(), neighbors.bytes()},
        .rows = {.file = rows.bytes(), .row_bytes = kColumns * sizeof(float), .columns = kColumns}};
  }

  sample::Lists lists;
  FlatLists flat;
  SplitFile offsets;
  SplitFile neighbors;
  SplitFile rows;
};

std::vector<float> root_table() {
  std::vector<float> roots(kRootTable);
  for (uint32_t i = 0; i < kRootTable; ++i) {
    roots[i] = static_cast<float>(1.0 / std::sqrt(static_cast<double>(i) + 1.0));
  }
  return roots;
}

// The tree of some seeds, hop after hop.
std::vector<uint32_t> drawn_tree(HostAccelerator& device, const SmallStore& store,
                                 const std::vector<uint32_t>& seeds,
                                 const std::vector<uint32_t>& fanout, uint64_t key) {
  BatchState state;
  uint64_t positions = seeds.size();
  for (uint32_t hop = 0; hop < fanout.size(); ++hop) {
    state.hop_keys[hop] = RandomStream(key, hop).at(0);
    positions *= 1 + fanout[hop];
  }
  std::vector<uint32_t> nodes(positions);
  std::copy(seeds.begin(), seeds.end(), nodes.begin());
  uint64_t met = seeds.size();
  for (uint32_t hop = 0; hop < fanout.size(); ++hop) {
    device.run_drawing(DrawHop{.lists = store.view().lists,
                               .state = &state,
                               .nodes = nodes.data(),
                               .hop = hop,
                               .fanout = fanout[hop],
                               .threads = static_cast<uint32_t>(met)});
    met *= 1 + fanout[hop];
  }
  return nodes;
}

TEST(GpuDraws, AreTheNeighboursThatTheSamplerDraws) {
  const SmallStore store;
  HostAccelerator device(kGiB);
  memory::Ledger ledger(kGiB);
  const sample::Topology topology = sample::topology_of(store.lists, ledger);
  for (const std::vector<uint32_t>& fanout :
       std::vector<std::vector<uint32_t>>{{3, 2}, {15, 10}, {1, 1, 1}, {32, 20}, {10, 10, 10}}) {
    const std::vector<uint32_t> seeds = {5, 7, 10, 299, 0, 13, 150, 21, 8};
    const uint64_t key = 1234 + fanout.size();
    sample::Sampler sampler(topology, {.fanout = fanout}, ledger);
    sample::Neighborhood neighborhood(ledger, fanout.size());
    sampler.sample(seeds, key, neighborhood);
    const sample::Drawn drawn = sample::copy_of(neighborhood);
    const std::vector<uint32_t> tree = drawn_tree(device, store, seeds, fanout, key);
    uint64_t met = seeds.size();
    for (size_t hop = 0; hop < fanout.size(); ++hop) {
      const uint32_t k = fanout[hop];
      std::map<uint32_t, std::vector<uint32_t>> expected;  // by node
      const auto& [offsets, indices] = drawn.hops[hop];
      for (uint32_t i = 0; i + 1 < offsets.size(); ++i) {
        auto& list = expected[drawn.nodes[i]];
        for (uint32_t e = offsets[i]; e < offsets[i + 1]; ++e) {
          list.push_back(drawn.nodes[indices[e]]);
        }
        list.resize(k, kNoNode);
      }
      for (uint64_t i = 0; i < met; ++i) {
        const auto first = tree.begin() + static_cast<int64_t>(met + i * k);
        const std::vector<uint32_t> list(first, first + k);
        if (tree[i] == kNoNode) {
          ASSERT_EQ(list, std::vector<uint32_t>(k, kNoNode));
        } else {
          ASSERT_EQ(list, expected.at(tree[i])) << "hop " << hop << ", position " << i;
        }
      }
      met *= 1 + k;
    }
  }
}

struct Summed {
  std::vector<float> sums;
  std::vector<float> own;
  std::vector<uint32_t> degrees;
};

Summed summed(HostAccelerator& device, const SmallStore& store, const std::vector<uint32_t>& nodes,
              uint32_t fanout, SumWeights weights, uint64_t hop_key) {
  static const std::vector<float> kRoots = root_table();
  BatchState state;
  state.hop_keys[0] = hop_key;
  const uint32_t lanes = (kColumns + kLane - 1) / kLane;
  Summed result{std::vector<float>(nodes.size() * kColumns),
                std::vector<float>(nodes.size() * kColumns), std::vector<uint32_t>(nodes.size())};
  device.run_drawing(SumRows{.lists = store.view().lists,
                             .rows = store.view().rows,
                             .state = &state,
                             .nodes = nodes.data(),
                             .roots = kRoots.data(),
                             .sums = result.sums.data(),
                             .own = result.own.data(),
                             .degrees = result.degrees.data(),
                             .weights = weights,
                             .fanout = fanout,
                             .lanes = lanes,
                             .threads = static_cast<uint32_t>(nodes.size()) * lanes});
  return result;
}

TEST(GpuDraws, SumsAreThoseOfTheDrawnRows) {
  const SmallStore store;
  HostAccelerator device(kGiB);
  std::vector<uint32_t> nodes(kNodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  nodes.push_back(kNoNode);
  for (const SumWeights weights : {SumWeights::mean, SumWeights::graph}) {
    constexpr uint32_t kFanout = 10;
    const uint64_t key = 99;
    const Summed result =
        summed(device, store, nodes, kFanout, weights, RandomStream(key, 0).at(0));
    const std::vector<uint32_t> tree = drawn_tree(
        device, store, std::vector<uint32_t>(nodes.begin(), nodes.end() - 1), {kFanout}, key);
    for (uint32_t node = 0; node < kNodes; ++node) {
      const auto degree = static_cast<double>(store.lists[node].size());
      ASSERT_EQ(result.degrees[node], store.lists[node].size());
      for (uint32_t column = 0; column < kColumns; ++column) {
        double sum = 0;
        double count = 0;
        for (uint32_t q = 0; q < kFanout; ++q) {
          const uint32_t neighbor = tree[kNodes + node * kFanout + q];
          if (neighbor == kNoNode) continue;
          const double root = std::sqrt(static_cast<double>(store.lists[neighbor].size()) + 1);
          sum += feature(neighbor, column) / (weights == SumWeights::graph ? root : 1);
          ++count;
        }
        double expected = count == 0 ? 0 : sum / count;
        if (weights == SumWeights::graph) {
          expected *= degree / std::sqrt(degree + 1);
          expected += feature(node, column) / (degree + 1);
        }
        ASSERT_NEAR(result.sums[node * kColumns + column], expected, 1e-5) << node;
        ASSERT_EQ(result.own[node * kColumns + column], feature(node, column));
      }
    }
    for (uint32_t column = 0; column < kColumns; ++column) {
      EXPECT_EQ(result.sums[kNodes * kColumns + column], 0);
    }
  }
}

TEST(GpuDraws, AFanOutThatDoesNotFitIsRefusedWithItsReason) {
  recipe::Recipe recipe;
  EXPECT_EQ(cannot_draw(recipe, false), "");
  EXPECT_NE(cannot_draw(recipe, true), "");
  recipe.fanout = {33, 10};
  EXPECT_NE(cannot_draw(recipe, false), "");
  recipe.fanout = {recipe::kAllNeighbors, 10};
  EXPECT_NE(cannot_draw(recipe, false), "");
  recipe.fanout = {15, 10};
  recipe.norm = recipe::Norm::sampled;
  EXPECT_NE(cannot_draw(recipe, false), "");
  recipe.model = recipe::ModelKind::sage;
  EXPECT_EQ(cannot_draw(recipe, false), "");
  recipe.sampler = recipe::Draw::labor;
  EXPECT_NE(cannot_draw(recipe, false), "");
  recipe.model = recipe::ModelKind::mlp;
  EXPECT_EQ(cannot_draw(recipe, false), "");
  recipe.model = recipe::ModelKind::gat;
  EXPECT_NE(cannot_draw(recipe, false), "");
  recipe.sampler = recipe::Draw::uniform;
  EXPECT_EQ(cannot_draw(recipe, false), "");
}

}  // namespace
}  // namespace plimsoll::gpu
