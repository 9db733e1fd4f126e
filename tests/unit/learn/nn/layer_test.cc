#include "nn/layer.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/operations.h"
#include "nn/small_block.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

using Json = nlohmann::ordered_json;
using MakeLayer = std::function<std::unique_ptr<Layer>(const LayerShape&)>;

void scale_as_gcn(const Adjacency& lists, BlockTensors& block) {
  std::vector<float> scales(block.sources, 1);
  for (size_t i = 0; i < lists.size(); ++i)
    scales[i] = 1 / std::sqrt(static_cast<float>(lists[i].size()) + 1);
  block.source_scale = floats(scales);
  block.destination_scale = block.source_scale.narrow(0, 0, block.destinations).contiguous();
  block.self_scale = block.destination_scale.square();
}

void scale_as_mean(const Adjacency& lists, BlockTensors& block) {
  std::vector<float> scales;
  for (const auto& list : lists)
    scales.push_back(list.empty() ? 0 : 1 / static_cast<float>(list.size()));
  block.destination_scale = floats(scales);
}

// Gives the layer its parameters, as a model would.
void bind_parameters(Layer& layer, const std::map<std::string, at::Tensor>& values) {
  ASSERT_EQ(layer.parameters().size(), values.size());
  for (Parameter& parameter : layer.parameters()) {
    parameter.value = values.at(parameter.name);
    ASSERT_EQ(parameter.value.sizes(), at::IntArrayRef(parameter.shape)) << parameter.name;
    parameter.gradient = at::zeros(parameter.shape);
  }
}

// ---- sums along edges ----

struct Scales {
  bool destination, source, self;
};

class Sums : public testing::TestWithParam<Scales> {
 protected:
  BlockTensors random_block(int64_t destinations, int64_t sources) {
    BlockTensors block = block_of(random_lists(destinations, sources, random_), sources);
    if (GetParam().destination) block.destination_scale = random_normal({destinations}, random_);
    if (GetParam().source) block.source_scale = random_normal({sources}, random_);
    if (GetParam().self) block.self_scale = random_normal({destinations}, random_);
    return block;
  }

  std::mt19937 random_{5};
};

TEST_P(Sums, AreTheProductWithADenseMatrix) {
  for (const int64_t sources : {20, 33}) {
    const BlockTensors block = random_block(20, sources);
    const at::Tensor weights = edge_weights(block);
    ASSERT_GE(edge_counts(block).max().item<double>(), 2) << "no source stands twice in a list";
    for (const int64_t columns : {1, 7, 16, 40}) {
      const at::Tensor x = random_normal({sources, columns}, random_);
      const at::Tensor sums = aggregate(x, block);
      EXPECT_EQ(sums.scalar_type(), at::kFloat);
      expect_close(sums, weights.mm(x.to(at::kDouble)), "sums");
      const at::Tensor gradient = random_normal({20, columns}, random_);
      expect_close(aggregate_backward(gradient, block), weights.t().mm(gradient.to(at::kDouble)),
                   "gradient");
    }
  }
}

TEST_P(Sums, AreTheSameToTheBitOnAnyNumberOfThreads) {
  const BlockTensors block = random_block(1500, 2100);
  const at::Tensor x = random_normal({2100, 9}, random_);
  const at::Tensor gradient = random_normal({1500, 9}, random_);
  set_computing_threads(1);
  const at::Tensor sums = aggregate(x, block);
  const at::Tensor back = aggregate_backward(gradient, block);
  for (const unsigned threads : {2, 3, 16}) {
    set_computing_threads(threads);
    EXPECT_TRUE(aggregate(x, block).equal(sums)) << threads;
    EXPECT_TRUE(aggregate_backward(gradient, block).equal(back)) << threads;
  }
  set_computing_threads(1);
}

TEST_P(Sums, TakeRowsThatAreNotContiguous) {
  const BlockTensors block = random_block(12, 15);
  const at::Tensor x = random_normal({6, 15}, random_).t();
  EXPECT_TRUE(aggregate(x, block).equal(aggregate(x.contiguous(), block)));
  const at::Tensor gradient = random_normal({6, 12}, random_).t();
  EXPECT_TRUE(
      aggregate_backward(gradient, block).equal(aggregate_backward(gradient.contiguous(), block)));
}

TEST_P(Sums, OfABlockWithoutEdgesAreTheSelfTermAlone) {
  BlockTensors block = block_of(Adjacency(4), 6);
  if (GetParam().self) block.self_scale = random_normal({4}, random_);
  const at::Tensor x = random_normal({6, 3}, random_);
  expect_close(aggregate(x, block), edge_weights(block).mm(x.to(at::kDouble)), "sums");
  const at::Tensor gradient = random_normal({4, 3}, random_);
  expect_close(aggregate_backward(gradient, block),
               edge_weights(block).t().mm(gradient.to(at::kDouble)), "gradient");
}

INSTANTIATE_TEST_SUITE_P(Aggregate, Sums,
                         testing::Values(Scales{false, false, false}, Scales{true, false, false},
                                         Scales{false, true, false}, Scales{false, false, true},
                                         Scales{true, true, false}, Scales{true, true, true}));

// ---- which of two products comes first ----

BlockTensors block_of_size(int64_t destinations, int64_t sources, int64_t edges) {
  BlockTensors block;
  block.destinations = destinations;
  block.sources = sources;
  block.indices = at::zeros({edges}, at::kInt);
  return block;
}

TEST(SumFirst, TakesTheCheaperOrder) {
  // Summing first: (edges + destinations) x in, then destinations x in x out. Multiplying first:
  // sources x in x out, then (edges + destinations) x out.
  EXPECT_TRUE(sum_first(block_of_size(10, 100, 90), 64, 64)) << "ten times the sources";
  EXPECT_FALSE(sum_first(block_of_size(10, 11, 90), 640, 4)) << "sums of 640 columns or of 4";
  EXPECT_TRUE(sum_first(block_of_size(10, 10, 90), 4, 640)) << "sums of 4 columns or of 640";
  EXPECT_TRUE(sum_first(block_of_size(10, 10, 90), 8, 8)) << "a tie";
  // 100 x 20 + 10 x 20 x 5 = 3,000 against 100 x 5 + sources x 20 x 5.
  EXPECT_FALSE(sum_first(block_of_size(10, 24, 90), 20, 5));
  EXPECT_TRUE(sum_first(block_of_size(10, 25, 90), 20, 5));
}

// ---- PyG's own numbers ----

struct GoldenCase {
  std::string name;
  MakeLayer make;
  void (*scale)(const Adjacency& lists, BlockTensors& block);
  int64_t idle_sources;  // in no list; enough of them make summing first the cheaper order
};

class PygLayer : public testing::TestWithParam<GoldenCase> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(golden_file())) GTEST_SKIP() << golden_file() << " is not there";
    golden_ = Json::parse(std::ifstream(golden_file()));
    x_ = read_floats(golden_.at("x"));
    lists_ = read_lists(golden_);
  }

  Json golden_;
  at::Tensor x_;
  Adjacency lists_;
};

TEST_P(PygLayer, IsMatchedForwardAndBackward) {
  const GoldenCase& test = GetParam();
  const Json& golden = golden_.at("layers").at(test.name);
  std::map<std::string, at::Tensor> values;
  for (const auto& [name, value] : golden.at("state_dict").items())
    values[name] = read_floats(value);
  const at::Tensor expected = read_floats(golden.at("output"));
  BlockTensors block = block_of(lists_, x_.size(0) + test.idle_sources);
  test.scale(lists_, block);
  ASSERT_EQ(sum_first(block, x_.size(1), expected.size(1)), test.idle_sources > 0);

  const auto layer = test.make({.in = x_.size(1), .out = expected.size(1)});
  bind_parameters(*layer, values);
  const at::Tensor x = at::cat({x_, at::full({test.idle_sources, x_.size(1)}, 3.0F)});
  const at::Tensor out = layer->forward({.x = x, .block = &block}, /*training=*/true);
  expect_close(out, expected, "output");

  const at::Tensor gradient = at::arange(expected.numel(), at::kFloat).view_as(expected);
  const at::Tensor grad_x = layer->backward(gradient, /*input_gradient=*/true);
  expect_close(grad_x.narrow(0, 0, x_.size(0)), read_floats(golden.at("grad_x")), "gradient of x");
  EXPECT_EQ(scale_of(grad_x.narrow(0, x_.size(0), test.idle_sources)), 0);
  for (const Parameter& parameter : layer->parameters())
    expect_close(parameter.gradient, read_floats(golden.at("grads").at(parameter.name)),
                 "gradient of " + parameter.name);
}

INSTANTIATE_TEST_SUITE_P(Layer, PygLayer,
                         testing::Values(GoldenCase{"GCNConv", make_gcn, scale_as_gcn, 0},
                                         GoldenCase{"GCNConv", make_gcn, scale_as_gcn, 50},
                                         GoldenCase{"SAGEConv", make_sage, scale_as_mean, 0},
                                         GoldenCase{"SAGEConv", make_sage, scale_as_mean, 50}),
                         [](const auto& test) {
                           return test.param.name +
                                  (test.param.idle_sources > 0 ? "SumsFirst" : "MultipliedFirst");
                         });

// torch.optim counts parameters in this order: a module's own ones, then those of its parts.
TEST(Layer, ListsItsParametersAsPygDoes) {
  using Names = std::vector<std::string>;
  const auto names_of = [](const MakeLayer& make) {
    Names names;
    const auto layer = make({.in = 3, .out = 2});
    for (const Parameter& parameter : layer->parameters()) names.push_back(parameter.name);
    return names;
  };
  EXPECT_EQ(names_of(make_linear), (Names{"weight", "bias"}));
  EXPECT_EQ(names_of(make_gcn), (Names{"bias", "lin.weight"}));
  EXPECT_EQ(names_of(make_sage), (Names{"lin_l.weight", "lin_l.bias", "lin_r.weight"}));
  EXPECT_EQ(names_of(make_gat), (Names{"att_src", "att_dst", "bias", "lin.weight"}));
}

// ---- both orders, and sums made before ----

// A layer with random parameters; the same ones for the same random numbers.
struct Made {
  Made(const MakeLayer& make, const LayerShape& shape) : layer(make(shape)) {
    std::mt19937 random(3);
    std::map<std::string, at::Tensor> values;
    for (const Parameter& parameter : layer->parameters())
      values[parameter.name] = random_normal(parameter.shape, random);
    bind_parameters(*layer, values);
  }
  at::Tensor value(const std::string& name) const { return find(name).value.to(at::kDouble); }
  at::Tensor gradient(const std::string& name) const { return find(name).gradient; }
  const Parameter& find(const std::string& name) const {
    for (const Parameter& parameter : layer->parameters()) {
      if (parameter.name == name) return parameter;
    }
    throw std::out_of_range(name);
  }

  std::unique_ptr<Layer> layer;
};

struct WidthCase {
  int64_t in, out;
  bool sums_first;
};

class Orders : public testing::TestWithParam<WidthCase> {
 protected:
  Orders() : lists_(random_lists(18, 22, random_)), block_(block_of(lists_, 22)) {
    x_ = random_normal({22, GetParam().in}, random_);
    gradient_ = random_normal({18, GetParam().out}, random_);
  }
  LayerShape shape() const { return {.in = GetParam().in, .out = GetParam().out}; }
  void expect_order() const {
    ASSERT_EQ(sum_first(block_, GetParam().in, GetParam().out), GetParam().sums_first);
  }

  std::mt19937 random_{11};
  Adjacency lists_;
  BlockTensors block_;
  at::Tensor x_, gradient_;
};

TEST_P(Orders, GiveTheSameGcn) {
  expect_order();
  scale_as_gcn(lists_, block_);
  const Made made(make_gcn, shape());
  const at::Tensor out = made.layer->forward({.x = x_, .block = &block_}, true);
  const at::Tensor back = made.layer->backward(gradient_, true);

  const at::Tensor weights = edge_weights(block_), g = gradient_.to(at::kDouble);
  const at::Tensor sums = weights.mm(x_.to(at::kDouble));
  const at::Tensor lin = made.value("lin.weight");
  expect_close(out, sums.mm(lin.t()) + made.value("bias"), "output");
  expect_close(back, weights.t().mm(g).mm(lin), "gradient of x");
  expect_close(made.gradient("lin.weight"), g.t().mm(sums), "gradient of the weight");
  expect_close(made.gradient("bias"), g.sum(0), "gradient of the bias");
}

TEST_P(Orders, GiveTheSameSage) {
  expect_order();
  scale_as_mean(lists_, block_);
  const Made made(make_sage, shape());
  const at::Tensor out = made.layer->forward({.x = x_, .block = &block_}, true);
  const at::Tensor back = made.layer->backward(gradient_, true);

  const at::Tensor weights = edge_weights(block_), g = gradient_.to(at::kDouble);
  const at::Tensor sums = weights.mm(x_.to(at::kDouble));
  const at::Tensor own = x_.narrow(0, 0, 18).to(at::kDouble);
  const at::Tensor left = made.value("lin_l.weight"), right = made.value("lin_r.weight");
  expect_close(out, sums.mm(left.t()) + made.value("lin_l.bias") + own.mm(right.t()), "output");
  at::Tensor grad_x = weights.t().mm(g).mm(left);
  grad_x.narrow(0, 0, 18).add_(g.mm(right));
  expect_close(back, grad_x, "gradient of x");
  expect_close(made.gradient("lin_l.weight"), g.t().mm(sums), "gradient of lin_l.weight");
  expect_close(made.gradient("lin_l.bias"), g.sum(0), "gradient of lin_l.bias");
  expect_close(made.gradient("lin_r.weight"), g.t().mm(own), "gradient of lin_r.weight");
}

TEST_P(Orders, GiveTheSameFromSumsMadeBefore) {
  for (const bool sage : {false, true}) {
    const MakeLayer make = sage ? MakeLayer(make_sage) : MakeLayer(make_gcn);
    sage ? scale_as_mean(lists_, block_) : scale_as_gcn(lists_, block_);
    const Made with_block(make, shape()), without(make, shape());
    LayerInput made_before{.x = aggregate(x_, block_)};
    if (sage) made_before.own = x_.narrow(0, 0, 18);
    expect_close(without.layer->forward(made_before, true),
                 with_block.layer->forward({.x = x_, .block = &block_}, true), "output");
    EXPECT_FALSE(without.layer->backward(gradient_, /*input_gradient=*/false).defined());
    EXPECT_FALSE(with_block.layer->backward(gradient_, /*input_gradient=*/false).defined());
    for (const Parameter& parameter : without.layer->parameters())
      expect_close(parameter.gradient, with_block.gradient(parameter.name), parameter.name);
    block_ = block_of(lists_, 22);
  }
}

INSTANTIATE_TEST_SUITE_P(Layer, Orders,
                         testing::Values(WidthCase{6, 40, true}, WidthCase{30, 3, false}));

TEST(Layer, AddsToTheGradientsThatAreThere) {
  std::mt19937 random(2);
  const Adjacency lists = random_lists(9, 12, random);
  BlockTensors block = block_of(lists, 12);
  scale_as_gcn(lists, block);
  const at::Tensor x = random_normal({12, 4}, random), gradient = random_normal({9, 6}, random);
  for (const MakeLayer make : {make_linear, make_gcn, make_sage, make_gat}) {
    const Made once(make, {.in = 4, .out = 6, .heads = 2}), twice(make, {4, 6, 2});
    const bool dense = once.layer->parameters()[0].name == "weight";
    const LayerInput input{.x = dense ? x.narrow(0, 0, 9) : x, .block = dense ? nullptr : &block};
    for (const Made* made : {&once, &twice, &twice}) {
      made->layer->forward(input, true);
      made->layer->backward(gradient, false);
    }
    for (const Parameter& parameter : once.layer->parameters())
      expect_close(twice.gradient(parameter.name), parameter.gradient * 2, parameter.name);
  }
}

}  // namespace
}  // namespace plimsoll::nn
