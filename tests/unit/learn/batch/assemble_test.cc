#include "batch/assemble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "small_batch.h"

namespace plimsoll::batch {
namespace {

const std::vector<uint32_t> kFanout = {4, 3, 2};
const std::vector<uint32_t> kSeeds = every(61, 0, 600);

float one_over_root(uint64_t value) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(value)));
}

class AssemblerTest : public testing::Test {
 protected:
  SmallData data_{sample::random_lists(600, 12, 1)};
};

// The blocks of a batch are the hops from the outermost on; `skipped` of those are done already.
void expect_blocks_of_hops(MadeBatch& made, size_t skipped) {
  const auto& hops = made.hops();
  const auto& blocks = made.batch().blocks;
  ASSERT_EQ(blocks.size(), hops.size() - skipped);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const sample::Hop& hop = hops[blocks.size() - 1 - i];
    EXPECT_EQ(blocks[i].destinations, hop.destinations);
    EXPECT_EQ(blocks[i].sources, hop.sources);
    EXPECT_TRUE(std::ranges::equal(blocks[i].offsets, hop.offsets.first(hop.destinations + 1)));
    EXPECT_TRUE(std::ranges::equal(blocks[i].indices, hop.indices.first(hop.edges())));
  }
  EXPECT_EQ(blocks.back().destinations, made.batch().seeds);
}

TEST_F(AssemblerTest, GivesRowsOfAllNodesWhereTheModelTakesRows) {
  MadeBatch made(data_, kFanout, kGat, kSeeds, 1);
  const Batch& batch = made.batch();
  expect_blocks_of_hops(made, 0);
  EXPECT_EQ(batch.seeds, kSeeds.size());
  ASSERT_EQ(batch.nodes.size(), made.hops().back().sources);
  EXPECT_TRUE(std::ranges::equal(batch.nodes.first(kSeeds.size()), kSeeds));
  ASSERT_EQ(batch.input.rows, batch.nodes.size());
  ASSERT_EQ(batch.input.columns, data_.columns());
  for (uint32_t i = 0; i < batch.input.rows; ++i) {
    for (uint32_t c = 0; c < data_.columns(); ++c) {
      ASSERT_EQ(batch.input.data[i * data_.columns() + c], data_.value(batch.nodes[i], c));
    }
  }
  EXPECT_EQ(batch.own.data, nullptr);
  for (const Block& block : batch.blocks) {
    EXPECT_TRUE(block.destination_scale.empty());
    EXPECT_TRUE(block.source_scale.empty());
    EXPECT_TRUE(block.self_scale.empty());
  }
}

TEST_F(AssemblerTest, GivesRowsOfTheSeedsWithoutHops) {
  MadeBatch made(data_, {}, {Input::rows, Weighting::none, true}, kSeeds, 1);
  const Batch& batch = made.batch();
  EXPECT_TRUE(batch.blocks.empty());
  EXPECT_EQ(batch.nodes.size(), kSeeds.size());
  ASSERT_EQ(batch.input.rows, kSeeds.size());
  for (uint32_t i = 0; i < kSeeds.size(); ++i) {
    EXPECT_EQ(batch.input.data[i * data_.columns()], data_.value(kSeeds[i], 0));
  }
}

// destination_scale * sum of source_scale * row + self_scale * row, of the outermost hop, in the
// order of its list: the bits must be these.
void expect_sums(const SmallData& data, MadeBatch& made,
                 const std::vector<float>& destination_scale,
                 const std::vector<float>& source_scale, const std::vector<float>& self_scale) {
  const Batch& batch = made.batch();
  const sample::Hop& hop = made.hops().back();
  ASSERT_EQ(batch.input.rows, hop.destinations);
  ASSERT_EQ(batch.input.columns, data.columns());
  for (uint32_t i = 0; i < hop.destinations; ++i) {
    for (uint32_t c = 0; c < data.columns(); ++c) {
      float sum = 0;
      for (uint32_t e = hop.offsets[i]; e < hop.offsets[i + 1]; ++e) {
        const uint32_t source = hop.indices[e];
        const float value = data.value(batch.nodes[source], c);
        sum += source_scale.empty() ? value : source_scale[source] * value;
      }
      sum *= destination_scale[i];
      if (!self_scale.empty()) sum += self_scale[i] * data.value(batch.nodes[i], c);
      ASSERT_EQ(batch.input.data[i * data.columns() + c], sum) << i;
    }
  }
}

TEST_F(AssemblerTest, GivesMeansAndOwnRowsWhereTheModelTakesBoth) {
  MadeBatch made(data_, kFanout, kSage, kSeeds, 1);
  const Batch& batch = made.batch();
  expect_blocks_of_hops(made, 1);
  const auto scale_of = [](const sample::Hop& hop, uint32_t i) {
    return hop.degree(i) == 0 ? 0 : 1 / static_cast<float>(hop.degree(i));
  };
  for (size_t b = 0; b < batch.blocks.size(); ++b) {
    const Block& block = batch.blocks[b];
    const sample::Hop& hop = made.hops()[batch.blocks.size() - 1 - b];
    ASSERT_EQ(block.destination_scale.size(), block.destinations);
    for (uint32_t i = 0; i < block.destinations; ++i) {
      EXPECT_EQ(block.destination_scale[i], scale_of(hop, i));
    }
    EXPECT_TRUE(block.source_scale.empty());
    EXPECT_TRUE(block.self_scale.empty());
  }
  const sample::Hop& outermost = made.hops().back();
  std::vector<float> scales;
  for (uint32_t i = 0; i < outermost.destinations; ++i) scales.push_back(scale_of(outermost, i));
  EXPECT_TRUE(std::ranges::count(scales, 0.0F) > 0) << "a node without neighbours should be met";
  expect_sums(data_, made, scales, {}, {});
  ASSERT_EQ(batch.own.rows, outermost.destinations);
  for (uint32_t i = 0; i < batch.own.rows; ++i) {
    for (uint32_t c = 0; c < data_.columns(); ++c) {
      ASSERT_EQ(batch.own.data[i * data_.columns() + c], data_.value(batch.nodes[i], c));
    }
  }
}

struct GcnScales {
  std::vector<float> destination;
  std::vector<float> source;
  std::vector<float> self;
};

void expect_scales(const Block& block, const GcnScales& expected) {
  EXPECT_TRUE(std::ranges::equal(block.destination_scale, expected.destination));
  EXPECT_TRUE(std::ranges::equal(block.source_scale, expected.source));
  EXPECT_TRUE(std::ranges::equal(block.self_scale, expected.self));
}

// Degrees of the graph; each of k drawn neighbours stands for d / k.
GcnScales full_scales(const SmallData& data, MadeBatch& made, size_t h) {
  const sample::Hop& hop = made.hops()[h];
  GcnScales scales;
  for (uint32_t j = 0; j < hop.sources; ++j) {
    const uint64_t degree = data.lists[made.batch().nodes[j]].size();
    const float root = one_over_root(degree + 1);
    scales.source.push_back(root);
    if (j >= hop.destinations) continue;
    const auto stands_for =
        degree == 0 ? 0 : static_cast<float>(degree) / static_cast<float>(hop.degree(j));
    scales.destination.push_back(root * stands_for);
    scales.self.push_back(root * root);
  }
  return scales;
}

// Degrees of the sample: the edges drawn for a node where it was expanded, and one for itself.
GcnScales sampled_scales(MadeBatch& made, size_t h) {
  const auto& hops = made.hops();
  GcnScales scales;
  for (uint32_t j = 0; j < hops[h].sources; ++j) {
    uint64_t drawn = 0;
    if (j < hops[h].destinations) {
      drawn = hops[h].degree(j);
    } else if (h + 1 < hops.size()) {
      drawn = hops[h + 1].degree(j);
    }
    const float root = one_over_root(drawn + 1);
    scales.source.push_back(root);
    if (j >= hops[h].destinations) continue;
    scales.destination.push_back(root);
    scales.self.push_back(root * root);
  }
  return scales;
}

TEST_F(AssemblerTest, WeighsByTheDegreesOfTheGraph) {
  for (uint64_t key = 0; key < 3; ++key) {
    MadeBatch made(data_, kFanout, kGcn, kSeeds, key);
    expect_blocks_of_hops(made, 1);
    for (size_t b = 0; b < 2; ++b) {
      expect_scales(made.batch().blocks[b], full_scales(data_, made, 1 - b));
    }
    const GcnScales outermost = full_scales(data_, made, 2);
    expect_sums(data_, made, outermost.destination, outermost.source, outermost.self);
    EXPECT_EQ(made.batch().own.data, nullptr);
  }
}

TEST_F(AssemblerTest, WeighsByTheDegreesOfTheSample) {
  for (uint64_t key = 0; key < 3; ++key) {
    MadeBatch made(data_, kFanout, kGcnSampled, kSeeds, key);
    expect_blocks_of_hops(made, 1);
    for (size_t b = 0; b < 2; ++b) {
      expect_scales(made.batch().blocks[b], sampled_scales(made, 1 - b));
    }
    const GcnScales outermost = sampled_scales(made, 2);
    expect_sums(data_, made, outermost.destination, outermost.source, outermost.self);
  }
}

// With every neighbour drawn, the weights are those of the whole graph, to the bit.
TEST_F(AssemblerTest, WeighsAsTheWholeGraphWhereAllNeighboursAreDrawn) {
  MadeBatch made(data_, {kAll, kAll}, {Input::rows, Weighting::gcn_full, false}, {0, 7, 3, 599}, 1);
  for (const Block& block : made.batch().blocks) {
    for (uint32_t i = 0; i < block.destinations; ++i) {
      const auto& list = data_.lists[made.batch().nodes[i]];
      ASSERT_EQ(block.offsets[i + 1] - block.offsets[i], list.size());
      const float own = one_over_root(list.size() + 1);
      ASSERT_EQ(block.self_scale[i], own * own);
      if (list.empty()) continue;
      ASSERT_EQ(block.destination_scale[i], own);
      for (uint32_t e = 0; e < list.size(); ++e) {
        const uint32_t source = block.indices[block.offsets[i] + e];
        ASSERT_EQ(made.batch().nodes[source], list[e]);
        const uint64_t degree = data_.lists[list[e]].size();
        ASSERT_EQ(block.source_scale[source], one_over_root(degree + 1));
        const double exact =
            1 / std::sqrt(static_cast<double>(list.size() + 1) * static_cast<double>(degree + 1));
        const double weight = block.destination_scale[i] * block.source_scale[source];
        ASSERT_NEAR(weight, exact, exact * 2e-7);
      }
    }
  }
}

// The estimate is right on average: of 4000 draws, within five standard errors of the whole sum.
TEST_F(AssemblerTest, EstimatesTheWholeSum) {
  const uint32_t hub = 0;
  MadeBatch whole(data_, {kAll}, kGcn, {hub}, 1);
  for (uint32_t c = 0; c < data_.columns(); ++c) {
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 4000;
    for (uint64_t key = 0; key < kDraws; ++key) {
      MadeBatch made(data_, {5}, kGcn, {hub}, key);
      const double estimate = made.batch().input.data[c];
      sum += estimate;
      squares += estimate * estimate;
    }
    const double mean = sum / kDraws;
    const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, whole.batch().input.data[c], 5 * error) << "column " << c;
  }
}

TEST_F(AssemblerTest, SortsEdgesBySourceWhereGradientsFlow) {
  for (Assembly assembly : {kGcn, kGcnSampled, kSage, kGat}) {
    for (const auto& fanout : {kFanout, {kAll, kAll}}) {
      MadeBatch made(data_, fanout, assembly, kSeeds, 2);
      for (const Block& block : made.batch().blocks) {
        ASSERT_NO_FATAL_FAILURE(expect_edges_by_source(block));
      }
    }
    assembly.gradients = false;
    MadeBatch without(data_, kFanout, assembly, kSeeds, 2);
    for (const Block& block : without.batch().blocks) {
      EXPECT_TRUE(block.source_offsets.empty());
      EXPECT_TRUE(block.by_source.empty());
      EXPECT_TRUE(block.source_edges.empty());
    }
  }
}

TEST_F(AssemblerTest, AssemblesNodesThatReachNobody) {
  SmallData lonely(sample::Lists(4));
  for (const Assembly& assembly : {kGcn, kGcnSampled, kSage, kGat}) {
    MadeBatch made(lonely, {3, 3}, assembly, {1, 3}, 1);
    EXPECT_EQ(made.batch().nodes.size(), 2U);
    ASSERT_EQ(made.batch().input.rows, 2U);
    // GCN's sum is the node's own row, a mean of nothing is 0.
    const float expected = assembly.weighting == Weighting::mean ? 0 : lonely.value(3, 0);
    EXPECT_EQ(made.batch().input.data[lonely.columns()], expected);
    for (const Block& block : made.batch().blocks) expect_edges_by_source(block);
  }
}

// A second batch in the same memory is what it would have been in new memory.
TEST_F(AssemblerTest, LeavesNothingOfTheBatchBefore) {
  for (const Assembly& assembly : {kGcn, kGcnSampled, kSage, kGat}) {
    sample::Sampler sampler(data_.topology, sampler_options(kFanout, assembly), data_.ledger);
    Assembler assembler(data_.ledger, kFanout.size(), {});
    for (const auto& seeds : {every(3, 0, 600), kSeeds, every(2, 1, 600), {5}}) {
      sampler.sample(seeds, 3, assembler.neighborhood());
      assembler.prepare(assembly, data_.columns());
      assembler.fill(data_.rows(), assembler.batch().nodes.data());
      assembler.batch().whole = assembler.batch().seeds;
      MadeBatch fresh(data_, kFanout, assembly, seeds, 3);
      EXPECT_TRUE(BatchCopy(assembler.batch()) == BatchCopy(fresh.batch()));
    }
  }
}

}  // namespace
}  // namespace plimsoll::batch
