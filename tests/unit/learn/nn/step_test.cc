// What a training step does around the layers: activation, loss and Adam.
#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randperm.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/random.h"
#include "kernel/kernels.h"
#include "nn/model.h"
#include "nn/operations.h"
#include "nn/small_block.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

// ---- ReLU and dropout ----

// Positions all over a store of billions of nodes, as int32 holds them.
at::Tensor random_nodes(int64_t count, std::mt19937& random) {
  std::vector<int32_t> nodes(count);
  for (int32_t& node : nodes) node = static_cast<int32_t>(random());
  return ints(nodes);
}

// As kernel/kernels.h has it, value by value.
at::Tensor dropped_by_formula(const at::Tensor& x, const at::Tensor& nodes,
                              const Dropout& dropout) {
  const uint64_t key = mix64(dropout.key);
  at::Tensor out = x.clone();
  for (int64_t i = 0; i < x.size(0); ++i) {
    const auto node = static_cast<uint32_t>(nodes.data_ptr<int32_t>()[i]);
    const uint32_t row =
        kernel::mix32(node ^ static_cast<uint32_t>(key)) + static_cast<uint32_t>(key >> 32);
    for (int64_t c = 0; c < x.size(1); ++c) {
      const uint32_t word = kernel::mix32(row + static_cast<uint32_t>(c) * kernel::kColumnStep);
      const bool kept = static_cast<double>(word) >= std::floor(dropout.share * 0x1p32);
      float& value = out.data_ptr<float>()[i * x.size(1) + c];
      value = kept && value > 0 ? value * static_cast<float>(1 / (1 - dropout.share)) : 0;
    }
  }
  return out;
}

class Dropouts : public testing::TestWithParam<double> {
 protected:
  std::mt19937 random_{1};
  Dropout dropout_{.share = GetParam(), .key = 0x1234567890abcdef};
};

TEST_P(Dropouts, FollowTheFormula) {
  for (const int64_t columns : {1, 7, 16, 67}) {
    at::Tensor x = random_normal({300, columns}, random_);
    const at::Tensor nodes = random_nodes(320, random_);  // those beyond x's rows are not read
    const at::Tensor expected = dropped_by_formula(x, nodes, dropout_);
    relu_dropout_in_place(x, nodes, dropout_);
    EXPECT_TRUE(x.equal(expected)) << columns << " columns";
  }
}

TEST_P(Dropouts, DependOnTheNodeAndNotOnItsRow) {
  at::Tensor x = random_normal({600, 9}, random_);
  const at::Tensor nodes = random_nodes(600, random_);
  const at::Tensor order = at::randperm(600, at::kLong);
  at::Tensor permuted = x.index_select(0, order);
  relu_dropout_in_place(permuted, nodes.index_select(0, order), dropout_);
  relu_dropout_in_place(x, nodes, dropout_);
  EXPECT_TRUE(permuted.equal(x.index_select(0, order)));
}

TEST_P(Dropouts, AreTheSameOnAnyNumberOfThreads) {
  const at::Tensor x = random_normal({2000, 5}, random_);
  const at::Tensor nodes = random_nodes(2000, random_);
  set_computing_threads(1);
  at::Tensor one = x.clone();
  relu_dropout_in_place(one, nodes, dropout_);
  for (const unsigned threads : {2, 3, 16}) {
    set_computing_threads(threads);
    at::Tensor many = x.clone();
    relu_dropout_in_place(many, nodes, dropout_);
    EXPECT_TRUE(many.equal(one)) << threads;
  }
  set_computing_threads(1);
}

TEST_P(Dropouts, DropTheirShareAndKeepTheMean) {
  at::Tensor x = at::ones({2000, 50});
  relu_dropout_in_place(x, at::arange(2000, at::kInt), dropout_);
  const double five_deviations = 5 * std::sqrt(0.25 / 100'000);
  EXPECT_NEAR(x.eq(0).to(at::kDouble).mean().item<double>(), GetParam(), five_deviations);
  EXPECT_NEAR(x.to(at::kDouble).mean().item<double>(), 1, five_deviations / (1 - GetParam()));
}

TEST_P(Dropouts, LetGradientsThroughWhereTheyKeptAPositiveValue) {
  const at::Tensor x = random_normal({200, 11}, random_);
  at::Tensor out = x.clone();
  relu_dropout_in_place(out, random_nodes(200, random_), dropout_);
  at::Tensor gradient = random_normal({200, 11}, random_);
  const at::Tensor expected = gradient * out.ne(0) * (1 / (1 - GetParam()));
  relu_dropout_backward_in_place(gradient, out, GetParam());
  expect_close(gradient, expected, 1, "gradient");
  EXPECT_EQ(scale_of(gradient.masked_select(x.lt(0))), 0);
}

TEST_P(Dropouts, AreTheSameOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  at::Tensor x = random_normal({300, 33}, random_);
  const at::Tensor nodes = random_nodes(320, random_);
  at::Tensor there = x.to(at::kCUDA);
  relu_dropout_in_place(there, nodes.to(at::kCUDA), dropout_);
  relu_dropout_in_place(x, nodes, dropout_);
  EXPECT_TRUE(there.cpu().equal(x));
}

INSTANTIATE_TEST_SUITE_P(Activation, Dropouts, testing::Values(0, 0.1, 0.5, 0.9));

TEST(Activation, DropsOtherValuesWithAnotherKey) {
  const at::Tensor nodes = at::arange(100, at::kInt);
  at::Tensor low = at::ones({100, 10}), high = low.clone(), zero = low.clone();
  relu_dropout_in_place(zero, nodes, {.share = 0.5, .key = 0});
  relu_dropout_in_place(low, nodes, {.share = 0.5, .key = 1});
  relu_dropout_in_place(high, nodes, {.share = 0.5, .key = uint64_t{1} << 63});
  EXPECT_FALSE(low.equal(high));
  EXPECT_FALSE(low.equal(zero));
  EXPECT_FALSE(high.equal(zero));
}

// Else a training that diverges would go on with zeros.
TEST(Activation, KeepsWhatIsNotANumber) {
  for (const double share : {0.0, 0.5}) {
    at::Tensor x = at::full({3, 4}, std::numeric_limits<float>::quiet_NaN());
    relu_dropout_in_place(x, at::arange(3, at::kInt), {.share = share, .key = 9});
    EXPECT_TRUE(at::isnan(x).all().item<bool>()) << share;
  }
}

// ---- loss ----

class Losses : public testing::TestWithParam<double> {
 protected:
  std::mt19937 random_{4};
  at::Tensor logits_ = random_normal({6, 5}, random_).to(at::kDouble).mul(3);
  at::Tensor labels_ = ints({0, 4, 2, 2, 1, 3});

  double torch_sum(const at::Tensor& logits) const {
    return at::cross_entropy_loss(logits, labels_.to(at::kLong), {}, at::Reduction::Sum, -100,
                                  GetParam())
        .item<double>();
  }
};

TEST_P(Losses, AreTorchsCrossEntropy) {
  for (const at::ScalarType type : {at::kInt, at::kLong}) {
    const Loss loss =
        cross_entropy(logits_.to(at::kFloat), labels_.to(type), GetParam(), /*count=*/6);
    EXPECT_EQ(loss.sum.numel(), 1);
    EXPECT_NEAR(loss.sum.item<double>(), torch_sum(logits_), 1e-5);
  }
}

TEST_P(Losses, HaveTheGradientOfFiniteDifferences) {
  constexpr double kStep = 1e-6;
  constexpr int64_t kCount = 40;  // the rows of a batch of which these are a part
  const at::Tensor gradient = cross_entropy(logits_, labels_, GetParam(), kCount).gradient;
  ASSERT_EQ(gradient.sizes(), logits_.sizes());
  for (int64_t at = 0; at < logits_.numel(); ++at) {
    at::Tensor above = logits_.clone(), below = logits_.clone();
    above.data_ptr<double>()[at] += kStep;
    below.data_ptr<double>()[at] -= kStep;
    const double slope = (torch_sum(above) - torch_sum(below)) / (2 * kStep) / kCount;
    EXPECT_NEAR(gradient.data_ptr<double>()[at], slope, 1e-8) << at;
  }
}

TEST_P(Losses, StayFiniteWithExtremeLogits) {
  const Loss loss = cross_entropy(logits_.to(at::kFloat).mul(1e4), labels_, GetParam(), 6);
  EXPECT_TRUE(std::isfinite(loss.sum.item<double>()));
  EXPECT_LE(scale_of(loss.gradient), 1.0 / 6 + 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Loss, Losses, testing::Values(0, 0.1, 0.6));

TEST(Loss, CountsRowsThatAreLargestAtTheirLabel) {
  const at::Tensor logits = floats({1, 2, 0, 5, 4, 3, -1, -2, -3, 0, 0, 1}).view({4, 3});
  EXPECT_EQ(count_correct(logits, ints({1, 0, 0, 2})).item<int64_t>(), 4);
  EXPECT_EQ(count_correct(logits, ints({0, 0, 2, 2})).item<int64_t>(), 2);
  EXPECT_EQ(count_correct(logits, ints({1, 0, 0, 2}).to(at::kLong)).item<int64_t>(), 4);
  EXPECT_EQ(count_correct(logits.slice(0, 0, 0), ints({})).item<int64_t>(), 0);
}

// ---- Adam ----

// The paper's algorithm with torch's weight decay, on one parameter in double.
struct PlainAdam {
  double value, mean = 0, square = 0;
  int steps = 0;

  void step(double gradient, double lr, double weight_decay) {
    ++steps;
    gradient += weight_decay * value;
    mean = 0.9 * mean + 0.1 * gradient;
    square = 0.999 * square + 0.001 * gradient * gradient;
    const double unbiased_mean = mean / (1 - std::pow(0.9, steps));
    const double unbiased_square = square / (1 - std::pow(0.999, steps));
    value -= lr * unbiased_mean / (std::sqrt(unbiased_square) + 1e-8);
  }
};

TEST(Adam, FollowsThePaper) {
  for (const double weight_decay : {0.0, 0.01, 0.5}) {
    std::mt19937 random(8);
    at::Tensor values = random_normal({50}, random);
    std::vector<PlainAdam> expected;
    for (int64_t i = 0; i < 50; ++i) expected.push_back({values.data_ptr<float>()[i]});
    Adam adam(values);
    for (int step = 0; step < 20; ++step) {
      const double lr = step < 10 ? 0.05 : 0.02;
      // From 1e-5 to 1: the smallest make epsilon count.
      at::Tensor gradient = random_normal({50}, random) * at::arange(50, at::kFloat).div(-10).exp();
      for (int64_t i = 0; i < 50; ++i)
        expected[i].step(gradient.data_ptr<float>()[i], lr, weight_decay);
      adam.step(values, gradient, lr, weight_decay);
      for (int64_t i = 0; i < 50; ++i)
        ASSERT_NEAR(values.data_ptr<float>()[i], expected[i].value, 1e-5)
            << "step " << step << ", value " << i << ", weight decay " << weight_decay;
    }
    EXPECT_EQ(adam.steps, 20);
  }
}

}  // namespace
}  // namespace plimsoll::nn
