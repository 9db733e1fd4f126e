// What a network takes, the order in which it is given a pass, and the sums of its kinds of work.
#include "gpu/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "batch/seeds.h"
#include "gpu/device_layers.h"
#include "gpu/host_accelerator.h"

namespace plimsoll::gpu {
namespace {

using recipe::ModelKind;

recipe::Recipe layered(ModelKind model, size_t layers) {
  recipe::Recipe recipe;
  recipe.model = model;
  recipe.fanout = {3, 2, 4, 1};
  recipe.fanout.resize(layers);
  recipe.hidden = 9;
  recipe.heads = 3;
  recipe.batch_size = 48;
  return recipe;
}

TEST(GpuNetwork, TakesWhatWasPlannedForIt) {
  for (const ModelKind model : {ModelKind::gcn, ModelKind::sage, ModelKind::gat, ModelKind::mlp}) {
    for (size_t layers = 1; layers <= 4; ++layers) {
      for (const uint32_t part_seeds : {1U, 2U, 7U, 31U, 48U}) {
        for (const uint64_t classes : {1, 16, 47}) {
          const NetworkShape shape = {.recipe = layered(model, layers),
                                      .columns = 5 + classes,
                                      .classes = classes,
                                      .part_seeds = part_seeds,
                                      .longest_pass = 10 * classes};
          HostAccelerator device(network_bytes(shape));
          ModelParameters parameters;
          parameters.layers.resize(layers);
          {
            const Network network(device, shape, {}, parameters);
            EXPECT_EQ(device.ledger().used_bytes(), network_bytes(shape))
                << recipe::name(model) << ", " << layers << " layers, " << part_seeds << " seeds";
          }
          EXPECT_EQ(device.ledger().used_bytes(), 0U);
        }
      }
    }
  }
}

TEST(GpuNetwork, TakesMoreForMoreSeedsAndNothingForALargerBatchInParts) {
  NetworkShape shape = {
      .recipe = layered(ModelKind::sage, 3), .columns = 32, .classes = 10, .longest_pass = 1000};
  uint64_t before = 0;
  for (shape.part_seeds = 1; shape.part_seeds < 300; ++shape.part_seeds) {
    EXPECT_GE(network_bytes(shape), before);
    before = network_bytes(shape);
  }
  shape.part_seeds = 299;
  shape.recipe.batch_size = UINT64_MAX;
  EXPECT_LE(network_bytes(shape), before);
  EXPECT_GT(network_bytes(shape), before / 2);
}

// mlp with one weight, whose logit is then the node's feature, its number.
class PassOfNumbers {
 public:
  PassOfNumbers(uint64_t nodes, uint64_t batch_size, uint32_t part_seeds) : features_(nodes) {
    std::iota(features_.begin(), features_.end(), 0.0F);
    recipe::Recipe recipe;
    recipe.model = ModelKind::mlp;
    recipe.fanout = {1};
    recipe.batch_size = batch_size;
    ModelParameters parameters = {.layers = {LayerParameters{.weight = &weight_, .bias = &bias_}}};
    const auto* const bytes = reinterpret_cast<const uint8_t*>(features_.data());
    network_.emplace(device_,
                     NetworkShape{.recipe = recipe,
                                  .columns = 1,
                                  .classes = 1,
                                  .part_seeds = part_seeds,
                                  .longest_pass = nodes},
                     StoreView{.rows = {.file = {bytes, nullptr, nodes * sizeof(float)},
                                        .row_bytes = sizeof(float),
                                        .columns = 1}},
                     parameters);
  }

  struct Seen {
    std::vector<uint32_t> nodes;
    std::vector<int32_t> labels;
    std::vector<uint32_t> parts;  // their sizes
  };
  Seen pass(const PassOrder& order) {
    network_->begin(order);
    Seen seen;
    while (seen.nodes.size() < order.nodes.size()) {
      const Network::Part part = network_->evaluate();
      EXPECT_EQ(part.first, order.base * order.batch_size + seen.nodes.size());
      EXPECT_GE(part.step, part.seeds);
      for (uint32_t i = 0; i < part.seeds; ++i) {
        seen.nodes.push_back(static_cast<uint32_t>(part.logits[i]));
        seen.labels.push_back(part.labels[i]);
      }
      seen.parts.push_back(part.seeds);
    }
    return seen;
  }

 private:
  HostAccelerator device_{kGiB};
  std::vector<float> features_;
  float weight_ = 1;
  float bias_ = 0;
  std::optional<Network> network_;
};

TEST(GpuNetwork, ShufflesAPassAsTheCpuDoes) {
  for (const uint64_t count : {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 257, 1000, 4097, 65537}) {
    std::vector<uint32_t> nodes(count);
    std::vector<int32_t> labels(count);
    for (uint32_t i = 0; i < count; ++i) {
      nodes[i] = static_cast<uint32_t>(count - 1 - i);
      labels[i] = static_cast<int32_t>(3 * i);
    }
    PassOfNumbers network(count, 100, 100);
    for (const uint64_t key :
         {uint64_t{0}, uint64_t{1}, RandomStream(3, 4).at(count), UINT64_MAX}) {
      const auto seen =
          network.pass({.nodes = nodes, .labels = labels, .shuffle = key, .batch_size = 100});
      const batch::Seeds seeds = batch::Seeds::shuffled(nodes, key);
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t place = seeds.place(i);
        ASSERT_EQ(seen.nodes[i], seeds.node(place)) << count << " nodes, key " << key;
        ASSERT_EQ(seen.labels[i], labels[place]);
      }
    }
  }
}

TEST(GpuNetwork, KeepsTheOrderOfAPassWithoutAKeyInPartsOfAnySize) {
  std::vector<uint32_t> nodes(250);
  for (uint32_t i = 0; i < nodes.size(); ++i) nodes[i] = (i * 7) % 250;
  for (const uint32_t part_seeds : {1U, 3U, 30U, 99U, 100U, 128U}) {
    PassOfNumbers network(250, 100, part_seeds);
    const auto seen =
        network.pass({.nodes = nodes, .batch_size = 100, .base = 5, .first_batch = 5});
    EXPECT_EQ(seen.nodes, nodes);
    EXPECT_EQ(seen.labels, std::vector<int32_t>(250, -1));
    std::vector<uint32_t> expected;  // no part has seeds of two batches
    for (uint32_t left : {100U, 100U, 50U}) {
      for (; left > 0; left -= expected.back()) expected.push_back(std::min(left, part_seeds));
    }
    EXPECT_EQ(seen.parts, expected);
  }
}

TEST(GpuNetwork, RefusesALongerPassThanItWasMadeFor) {
  PassOfNumbers network(10, 4, 4);
  EXPECT_THROW(network.pass({.nodes = std::vector<uint32_t>(11), .batch_size = 4}), Error);
}

// With weights of 0 all classes are equally likely: the loss of a seed is the logarithm of their
// number, and its gradient 1 / n for a class, or that less 1 for its own.
TEST(GpuNetwork, AddsUpTheLossesAndGradientsOfAnyNumberOfSeeds) {
  constexpr uint64_t kClasses = 5;
  for (const uint64_t count : {1, 2, 63, 64, 65, 129, 4095, 4096, 4097, 20'000}) {
    recipe::Recipe recipe;
    recipe.model = ModelKind::mlp;
    recipe.fanout = {1};
    recipe.batch_size = count;
    recipe.dropout = 0;
    const std::vector<float> features(count, 1);
    std::vector<uint32_t> nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0);
    std::vector<int32_t> labels(count);
    std::vector<double> expected(kClasses, 1.0 / kClasses);
    for (uint64_t i = 0; i < count; ++i) {
      labels[i] = static_cast<int32_t>(RandomStream(count, 1).at(i) % 3);
      expected[labels[i]] -= 1.0 / static_cast<double>(count);
    }
    constexpr uint64_t kCount = 2 * kClasses;  // weights of one column, biases
    std::vector<float> values(kCount);
    std::vector<float> gradients(kCount);
    std::vector<float> mean(kCount);
    std::vector<float> square(kCount);
    const ModelParameters parameters = {
        .layers = {LayerParameters{.weight = values.data(),
                                   .bias = values.data() + kClasses,
                                   .weight_gradient = gradients.data(),
                                   .bias_gradient = gradients.data() + kClasses}},
        .values = values.data(),
        .gradients = gradients.data(),
        .mean = mean.data(),
        .square = square.data(),
        .count = kCount,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8};
    HostAccelerator device(kGiB);
    Network network(device,
                    {.recipe = recipe,
                     .columns = 1,
                     .classes = kClasses,
                     .part_seeds = static_cast<uint32_t>(count),
                     .longest_pass = count},
                    {.rows = {.file = {reinterpret_cast<const uint8_t*>(features.data()), nullptr,
                                       count * sizeof(float)},
                              .row_bytes = sizeof(float),
                              .columns = 1}},
                    parameters);
    network.begin(
        {.nodes = nodes, .labels = labels, .batch_size = static_cast<uint32_t>(count), .lr = 0.01});
    network.train();
    float loss = 0;
    network.losses(0, {&loss, 1});
    EXPECT_NEAR(loss / static_cast<double>(count), std::log(kClasses), 5e-6) << count;
    for (uint64_t c = 0; c < kClasses; ++c) {
      // The first mean is a tenth of the gradient.
      EXPECT_NEAR(mean[kClasses + c], expected[c] / 10, 1e-6) << count;
      EXPECT_NEAR(mean[c], expected[c] / 10, 1e-5) << count;
      EXPECT_EQ(gradients[c], 0);
    }
  }
}

TEST(GpuCode, AddsUpRowsInStepsToTheirPlainSums) {
  HostAccelerator device(kGiB);
  std::vector<uint32_t> counts(300);
  std::iota(counts.begin(), counts.end(), 1);
  for (uint64_t i = 0; i < 40; ++i) {
    counts.push_back(static_cast<uint32_t>(1 + RandomStream(1, 1).at(i) % 20'000));
  }
  counts.insert(counts.end(), {4095, 4096, 4097, 8192, 19'999, 20'000});
  constexpr uint32_t kWidth = 3;
  for (const uint32_t rows : counts) {
    std::vector<float> values(rows * kWidth);
    for (uint64_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(unit_interval(RandomStream(rows, 2).at(i)) - 0.3);
    }
    for (const bool by_column : {false, true}) {
      const uint32_t count = (rows + kPartialSumRows - 1) / kPartialSumRows;
      std::vector<float> sums(count * kWidth);
      device.run(AddRows{.values = values.data(),
                         .partial_sums = sums.data(),
                         .row_step = by_column ? 1 : kWidth,
                         .column_step = by_column ? rows : 1,
                         .rows = rows,
                         .columns = kWidth,
                         .threads = count * kWidth});
      std::vector<float> out = {10, 20, 30};  // are added to
      device.run(AddPartialSums{
          .partial_sums = sums.data(), .out = out.data(), .count = count, .threads = kWidth});
      for (uint32_t c = 0; c < kWidth; ++c) {
        double sum = 10 * (c + 1);
        double size = sum;
        for (uint64_t row = 0; row < rows; ++row) {
          const double value = values[by_column ? c * uint64_t{rows} + row : row * kWidth + c];
          sum += value;
          size += std::abs(value);
        }
        ASSERT_NEAR(out[c], sum, 1e-6 * size) << rows << " rows";
      }
    }
  }
}

// Every column of a head is multiplied by the row's factor of that head.
TEST(GpuCode, AddsUpRowsTimesTheFactorsOfTheirHeads) {
  HostAccelerator device(kGiB);
  constexpr uint32_t kRows = 100;
  constexpr uint32_t kHeads = 3;
  constexpr uint32_t kWidth = 6;
  std::vector<float> values(kRows * kWidth);
  std::vector<float> factors(kRows * kHeads);
  std::vector<float> expected(2 * kWidth);
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t head = 0; head < kHeads; ++head) {
      factors[row * kHeads + head] = static_cast<float>(row % 7) - static_cast<float>(head);
    }
    for (uint32_t column = 0; column < kWidth; ++column) {
      values[row * kWidth + column] = static_cast<float>(row + 10 * column);
      expected[row / kPartialSumRows * kWidth + column] +=
          factors[row * kHeads + column / 2] * values[row * kWidth + column];
    }
  }
  std::vector<float> sums(2 * kWidth);
  device.run(AddRows{.values = values.data(),
                     .partial_sums = sums.data(),
                     .row_step = kWidth,
                     .column_step = 1,
                     .rows = kRows,
                     .columns = kWidth,
                     .factors = factors.data(),
                     .heads = kHeads,
                     .threads = 2 * kWidth});
  EXPECT_EQ(sums, expected);  // whole numbers
}

TEST(GpuCode, PicksDistinctEntriesOfAListOrAllOfAShortOne) {
  for (uint64_t i = 0; i < 20'000; ++i) {
    const RandomStream random(i, 6);
    const auto fanout = static_cast<uint32_t>(1 + random.at(0) % kMostFanout);
    // As often short and just as long as the fan-out as longer, up to the largest.
    const uint64_t wide = random.at(1) >> (random.at(2) % 64);
    const uint64_t degree = i % 2 == 0 ? random.at(1) % (2 * fanout + 1) : wide;
    const auto node = static_cast<uint32_t>(random.at(3));
    std::array<uint64_t, kMostFanout> picks = {};
    const uint32_t count = pick<kMostFanout>(random.at(4), node, degree, fanout, picks.data());
    ASSERT_EQ(count, std::min<uint64_t>(degree, fanout));
    const std::set<uint64_t> distinct(picks.begin(), picks.begin() + count);
    ASSERT_EQ(distinct.size(), count) << "degree " << degree << ", fan-out " << fanout;
    if (count > 0) {
      ASSERT_LT(*distinct.rbegin(), degree);
    }
  }
}

// In a version for one fan-out, as a GPU runs it, too.
TEST(GpuCode, PicksTheSameInEveryVersion) {
  for (uint64_t i = 0; i < 2000; ++i) {
    const RandomStream random(i, 7);
    const auto node = static_cast<uint32_t>(random.at(0));
    const uint64_t degree = random.at(1) % 40;
    std::array<uint64_t, kMostFanout> any = {};
    std::array<uint64_t, 10> ten = {};
    const uint32_t count = pick<kMostFanout>(random.at(2), node, degree, 10, any.data());
    ASSERT_EQ(pick<10>(random.at(2), node, degree, 10, ten.data()), count);
    ASSERT_TRUE(std::equal(ten.begin(), ten.begin() + count, any.begin()));
  }
}

// Every entry is as likely as any other: Pearson's statistic is within five standard deviations.
TEST(GpuCode, PicksEveryEntryEquallyOften) {
  constexpr uint64_t kDegree = 37;
  constexpr uint32_t kPicked = 10;
  constexpr uint32_t kLists = 20'000;
  std::vector<double> counts(kDegree);
  for (uint32_t node = 0; node < kLists; ++node) {
    std::array<uint64_t, kPicked> picks = {};
    pick<kPicked>(99, node, kDegree, kPicked, picks.data());
    for (const uint64_t place : picks) ++counts.at(place);
  }
  const double mean = static_cast<double>(kLists) * kPicked / kDegree;
  double statistic = 0;
  for (const double count : counts) statistic += (count - mean) * (count - mean) / mean;
  // Without putting back, a count varies less than if all picks were independent.
  const double scale = 1 - static_cast<double>(kPicked) / kDegree;
  EXPECT_NEAR(statistic / scale, kDegree - 1, 5 * std::sqrt(2.0 * (kDegree - 1)));
}

}  // namespace
}  // namespace plimsoll::gpu
