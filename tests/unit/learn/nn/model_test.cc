#include "nn/model.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "nn/dense_model.h"
#include "nn/operations.h"
#include "nn/small_model.h"

namespace plimsoll::nn {
namespace {

using recipe::ModelKind;

const c10::Device kCpu(c10::DeviceType::CPU);
constexpr uint64_t kKey = 77;

using Names = std::set<std::string>;

Names names_of(const std::vector<NamedTensor>& tensors) {
  Names names;
  for (const NamedTensor& entry : tensors) names.insert(entry.name);
  EXPECT_EQ(names.size(), tensors.size());
  return names;
}

// A batch with random blocks of twice as many sources as destinations, from 8 seeds outwards, and
// the same for the dense model.
struct Sample {
  explicit Sample(const ModelShape& shape) {
    const bool mlp = shape.kind == ModelKind::mlp;
    int64_t sources = 8;
    for (int64_t i = 0; i < shape.layers && !mlp; ++i) {
      BlockTensors block = block_of(random_lists(sources, 2 * sources, random), 2 * sources);
      if (shape.kind != ModelKind::gat)
        block.destination_scale = random_normal({sources}, random).abs();
      if (shape.kind == ModelKind::gcn) {
        block.source_scale = random_normal({2 * sources}, random).abs();
        block.self_scale = random_normal({sources}, random).abs();
      }
      dense.blocks.insert(dense.blocks.begin(), block);
      sources *= 2;
    }
    dense.x = random_normal({sources, shape.inputs}, random);
    batch.input = dense.x;
    batch.blocks = dense.blocks;
    if (shape.kind == ModelKind::gcn || shape.kind == ModelKind::sage) {
      batch.blocks.erase(batch.blocks.begin());
      batch.input = aggregate(dense.x, dense.blocks[0]);
      if (shape.kind == ModelKind::sage)
        batch.own = dense.x.narrow(0, 0, dense.blocks[0].destinations);
    }
    batch.nodes = at::arange(sources, at::kInt).mul(1'000'003);
    batch.labels = ints({0, 1, 2, 3, 4, 0, 1, 2});
    for (int64_t i = 0; i + 1 < shape.layers; ++i) {
      const int64_t rows = mlp ? sources : dense.blocks[i].destinations;
      at::Tensor mask = at::ones({rows, shape.hidden});
      relu_dropout_in_place(mask, batch.nodes, {shape.dropout, mix64(kKey + i)});
      dense.masks.push_back(mask);
    }
    dense.training = true;
  }

  std::mt19937 random{13};
  BatchTensors batch;
  DenseInput dense;
};

class Models : public testing::TestWithParam<std::tuple<ModelKind, int, bool>> {
 protected:
  const ModelShape shape_ =
      shape_of(std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()));
};

TEST_P(Models, HaveTheGradientsOfADenseModelInDouble) {
  Model model(shape_, 1, kCpu);
  shake(model);
  const Sample sample(shape_);
  NamedDoubles state = doubles_of(model.parameters());
  for (auto& [name, tensor] : state) tensor.requires_grad_();
  const at::Tensor expected = dense_forward(shape_, state, sample.dense).logits;
  at::cross_entropy_loss(expected, sample.batch.labels.to(at::kLong), {}, at::Reduction::Mean, -100,
                         /*label_smoothing=*/0.1)
      .backward();

  const at::Tensor logits = model.forward(sample.batch, /*training=*/true, kKey).logits;
  expect_close(logits, expected.detach(), "logits");
  model.backward(cross_entropy(logits, sample.batch.labels, 0.1, 8).gradient);
  // What batch norm takes out again has no gradient but the rounding errors of the others.
  const double least_scale = 0.1 * scale_of(model.gradients());
  int64_t begin = 0;
  for (const NamedTensor& parameter : model.parameters()) {
    const at::Tensor gradient =
        model.gradients().narrow(0, begin, parameter.tensor.numel()).view(parameter.tensor.sizes());
    begin += parameter.tensor.numel();
    const at::Tensor& wanted = state.at(parameter.name).grad();
    expect_close(gradient, wanted, std::max(scale_of(wanted), least_scale), parameter.name);
  }
  EXPECT_EQ(begin, model.parameter_count());
}

// A few parameters by central differences of the dense model, without autograd.
TEST_P(Models, HaveTheGradientsOfFiniteDifferences) {
  constexpr double kStep = 1e-6;
  Model model(shape_, 1, kCpu);
  shake(model);
  const Sample sample(shape_);
  const NamedDoubles state = doubles_of(model.parameters());
  const auto loss = [&] {
    return at::cross_entropy_loss(dense_forward(shape_, state, sample.dense).logits,
                                  sample.batch.labels.to(at::kLong))
        .item<double>();
  };
  const at::Tensor logits = model.forward(sample.batch, /*training=*/true, kKey).logits;
  model.backward(cross_entropy(logits, sample.batch.labels, 0, 8).gradient);
  int64_t begin = 0;
  for (const NamedTensor& parameter : model.parameters()) {
    const int64_t count = parameter.tensor.numel();
    for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
      double& value = state.at(parameter.name).data_ptr<double>()[at];
      const double before = value;
      value = before + kStep;
      const double above = loss();
      value = before - kStep;
      const double below = loss();
      value = before;
      EXPECT_NEAR(model.gradients().data_ptr<float>()[begin + at], (above - below) / (2 * kStep),
                  1e-6)
          << parameter.name << " at " << at;
    }
    begin += count;
  }
}

TEST_P(Models, NeitherDropNorNormalizeByTheBatchWhenNotTraining) {
  Model model(shape_, 1, kCpu);
  shake(model);
  Sample sample(shape_);
  sample.dense.training = false;
  sample.dense.masks.clear();
  const DenseOutputs expected = dense_forward(shape_, doubles_of(model.state()), sample.dense);
  const Outputs outputs = model.forward(sample.batch, /*training=*/false, kKey);
  expect_close(outputs.logits, expected.logits, "logits");
  expect_close(outputs.embeddings, expected.embeddings, "embeddings");
}

TEST_P(Models, AreTheSameToTheBitFromOneForwardToTheNext) {
  Model model(shape_, 1, kCpu);
  const Sample sample(shape_);
  const at::Tensor input = sample.batch.input.clone();
  const at::Tensor first = model.forward(sample.batch, true, kKey).logits;
  model.forget();
  const at::Tensor second = model.forward(sample.batch, true, kKey).logits;
  EXPECT_TRUE(first.equal(second));
  EXPECT_FALSE(first.equal(model.forward(sample.batch, true, kKey + 1).logits));
  EXPECT_TRUE(sample.batch.input.equal(input)) << "the batch was changed";
}

TEST_P(Models, AreDrawnFromTheSeed) {
  Model one(shape_, 5, kCpu), same(shape_, 5, kCpu), other(shape_, 6, kCpu);
  EXPECT_TRUE(one.values().equal(same.values()));
  EXPECT_FALSE(one.values().equal(other.values()));
  EXPECT_EQ(scale_of(one.gradients()), 0);
  for (const NamedTensor& entry : one.parameters()) {
    if (!entry.name.starts_with("bn") || !entry.name.ends_with("weight")) continue;
    EXPECT_TRUE(entry.tensor.equal(at::ones({shape_.hidden}))) << entry.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Model, Models,
                         testing::Combine(testing::Values(ModelKind::gcn, ModelKind::sage,
                                                          ModelKind::gat, ModelKind::mlp),
                                          testing::Values(2, 3), testing::Bool()),
                         [](const auto& test) {
                           return std::string(recipe::name(std::get<0>(test.param))) +
                                  std::to_string(std::get<1>(test.param)) +
                                  (std::get<2>(test.param) ? "BatchNorm" : "");
                         });

TEST(Model, NamesItsParametersAsPygDoes) {
  const auto names = [](ModelKind kind) {
    return names_of(Model(shape_of(kind, 2, false), 0, kCpu).parameters());
  };
  EXPECT_EQ(names(ModelKind::gcn),
            (Names{"conv1.lin.weight", "conv1.bias", "conv2.lin.weight", "conv2.bias"}));
  EXPECT_EQ(names(ModelKind::sage),
            (Names{"conv1.lin_l.weight", "conv1.lin_l.bias", "conv1.lin_r.weight",
                   "conv2.lin_l.weight", "conv2.lin_l.bias", "conv2.lin_r.weight"}));
  EXPECT_EQ(names(ModelKind::gat),
            (Names{"conv1.att_src", "conv1.att_dst", "conv1.bias", "conv1.lin.weight",
                   "conv2.att_src", "conv2.att_dst", "conv2.bias", "conv2.lin.weight"}));
  EXPECT_EQ(names(ModelKind::mlp), (Names{"lin1.weight", "lin1.bias", "lin2.weight", "lin2.bias"}));
}

TEST(Model, SaysWhatEachParameterDoesInWhichLayer) {
  using Role = ParameterRole;
  using Roles = std::vector<std::pair<size_t, Role>>;
  const auto roles = [](ModelKind kind, bool batch_norm) {
    const Model model(shape_of(kind, 2, batch_norm), 0, kCpu);
    Roles found;
    for (const NamedTensor& entry : model.parameters()) found.emplace_back(entry.layer, entry.role);
    return found;
  };
  EXPECT_EQ(roles(ModelKind::gcn, true), (Roles{{0, Role::bias},
                                                {0, Role::weight},
                                                {0, Role::other},
                                                {0, Role::other},
                                                {1, Role::bias},
                                                {1, Role::weight}}));
  EXPECT_EQ(roles(ModelKind::sage, false), (Roles{{0, Role::weight},
                                                  {0, Role::bias},
                                                  {0, Role::own_weight},
                                                  {1, Role::weight},
                                                  {1, Role::bias},
                                                  {1, Role::own_weight}}));
  EXPECT_EQ(roles(ModelKind::gat, false), (Roles{{0, Role::att_src},
                                                 {0, Role::att_dst},
                                                 {0, Role::bias},
                                                 {0, Role::weight},
                                                 {1, Role::att_src},
                                                 {1, Role::att_dst},
                                                 {1, Role::bias},
                                                 {1, Role::weight}}));
  EXPECT_EQ(roles(ModelKind::mlp, false),
            (Roles{{0, Role::weight}, {0, Role::bias}, {1, Role::weight}, {1, Role::bias}}));
}

TEST(Model, AddsTheRunningFiguresOfBatchNormToItsState) {
  Model model(shape_of(ModelKind::gcn, 3, true), 0, kCpu);
  Names names = names_of(model.parameters());
  for (const std::string name : {"bn1.weight", "bn1.bias", "bn2.weight", "bn2.bias"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("bn3.weight")) << "after the last layer";
  for (const std::string norm : {"bn1.", "bn2."}) {
    for (const char* name : {"running_mean", "running_var", "num_batches_tracked"})
      names.insert(norm + name);
  }
  EXPECT_EQ(names_of(model.state()), names);
}

TEST(Model, KeepsTorchsRunningFigures) {
  const ModelShape shape = shape_of(ModelKind::mlp, 2, true);
  Model model(shape, 0, kCpu);
  const Sample sample(shape);
  model.forward(sample.batch, true, kKey);
  model.forward(sample.batch, true, kKey);
  const NamedDoubles state = doubles_of(model.state());
  const at::Tensor x = dense_layer(shape, 0, state, sample.dense.x.to(at::kDouble), sample.dense);
  expect_close(state.at("bn1.running_mean"), x.mean(0) * (1 - 0.81), 1, "mean");
  expect_close(state.at("bn1.running_var"), x.var(0) * (1 - 0.81) + 0.81, 1, "variance");
  for (const NamedTensor& entry : model.state()) {
    if (entry.name != "bn1.num_batches_tracked") continue;
    EXPECT_EQ(entry.tensor.scalar_type(), at::kLong);
    EXPECT_EQ(entry.tensor.item<int64_t>(), 2);
  }
}

// A batch's last seed alone, or a part of a batch.
TEST(Model, KeepsItsRunningFiguresFiniteWithASingleRow) {
  const ModelShape shape = shape_of(ModelKind::mlp, 2, true);
  Model model(shape, 0, kCpu);
  Sample sample(shape);
  sample.batch.input = sample.batch.input.narrow(0, 0, 1);
  model.forward(sample.batch, true, kKey);
  for (const NamedTensor& entry : model.state())
    EXPECT_TRUE(at::isfinite(entry.tensor).all().item<bool>()) << entry.name;
}

TEST(Model, HasNoEmbeddingsWithOneLayer) {
  const ModelShape shape = shape_of(ModelKind::sage, 1, true);
  Model model(shape, 0, kCpu);
  const Sample sample(shape);
  const Outputs outputs = model.forward(sample.batch, false);
  EXPECT_FALSE(outputs.embeddings.defined());
  DenseInput dense = sample.dense;
  expect_close(outputs.logits, dense_forward(shape, doubles_of(model.state()), dense).logits,
               "logits");
}

}  // namespace
}  // namespace plimsoll::nn
