#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "nn/operations.h"
#include "nn/small_block.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

using testing::HasSubstr;

constexpr double kSlope = 0.2;
constexpr AttentionPath kFused = AttentionPath::by_device;  // on a CPU
constexpr AttentionPath kOperators = AttentionPath::operators;

struct Size {
  int64_t heads;
  int64_t channels;
  int64_t destinations;
  int64_t sources;
};

struct Case {
  Adjacency lists;
  BlockTensors block;
  at::Tensor z, att_src, att_dst, grad_out;

  AttentionArguments arguments(AttentionPath path = kFused) const {
    return {z, att_src, att_dst, block, kSlope, path};
  }
  Attention forward(AttentionPath path) const { return attend(arguments(path)); }
  AttentionGradients backward(AttentionPath path, const Attention& saved) const {
    return attend_backward(arguments(path), grad_out, saved);
  }
};

Case random_case(const Size& size) {
  std::mt19937 random(7);
  Case made;
  made.lists = random_lists(size.destinations, size.sources, random);
  made.block = block_of(made.lists, size.sources);
  const int64_t width = size.heads * size.channels;
  made.z = random_normal({size.sources, width}, random);
  made.att_src = random_normal({1, size.heads, size.channels}, random) / std::sqrt(size.channels);
  made.att_dst = random_normal({1, size.heads, size.channels}, random) / std::sqrt(size.channels);
  made.grad_out = random_normal({size.destinations, width}, random);
  return made;
}

void expect_same(const Attention& a, const Attention& b) {
  expect_close(a.out, b.out, scale_of(b.out), "out");
  expect_close(a.weights, b.weights, 1, "weights");
}

void expect_same(const AttentionGradients& a, const AttentionGradients& b) {
  expect_close(a.z, b.z, scale_of(b.z), "gradient of z");
  expect_close(a.att_src, b.att_src, scale_of(b.att_src), "gradient of att_src");
  expect_close(a.att_dst, b.att_dst, scale_of(b.att_dst), "gradient of att_dst");
}

// ---- a plain reference, in double ----

// sum(out * grad_out) of the layer; its derivatives are the gradients.
struct Reference {
  const Adjacency& lists;
  int64_t heads, channels;
  std::vector<double> z, att_src, att_dst, grad_out;

  explicit Reference(const Case& made)
      : lists(made.lists),
        heads(made.att_src.size(1)),
        channels(made.att_src.size(2)),
        z(doubles(made.z)),
        att_src(doubles(made.att_src)),
        att_dst(doubles(made.att_dst)),
        grad_out(doubles(made.grad_out)) {}

  static std::vector<double> doubles(const at::Tensor& tensor) {
    return {tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel()};
  }

  double dot(const std::vector<double>& att, int64_t node, int64_t h) const {
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c)
      sum += att[h * channels + c] * z[(node * heads + h) * channels + c];
    return sum;
  }

  // The channels of one destination and head.
  std::vector<double> attend_to(int64_t i, int64_t h) const {
    std::vector<int32_t> list = lists[i];
    list.push_back(static_cast<int32_t>(i));
    double total = 0;
    std::vector<double> out(channels);
    for (const int32_t j : list) {
      const double score = dot(att_src, j, h) + dot(att_dst, i, h);
      const double power = std::exp(score > 0 ? score : kSlope * score);
      total += power;
      for (int64_t c = 0; c < channels; ++c) out[c] += power * z[(j * heads + h) * channels + c];
    }
    for (double& value : out) value /= total;
    return out;
  }

  std::vector<double> out() const {
    std::vector<double> all;
    for (size_t i = 0; i < lists.size(); ++i) {
      for (int64_t h = 0; h < heads; ++h) {
        const std::vector<double> part = attend_to(static_cast<int64_t>(i), h);
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    return all;
  }

  double loss() const {
    const std::vector<double> all = out();
    double sum = 0;
    for (size_t at = 0; at < all.size(); ++at) sum += all[at] * grad_out[at];
    return sum;
  }

  double derivative(std::vector<double>& of, int64_t at) const {
    constexpr double kStep = 1e-5;
    const double value = of[at];
    of[at] = value + kStep;
    const double above = loss();
    of[at] = value - kStep;
    const double below = loss();
    of[at] = value;
    return (above - below) / (2 * kStep);
  }

  // Compares at most about 200 elements, evenly spread.
  void expect_gradient(const at::Tensor& actual, std::vector<double>& of,
                       const std::string& what) const {
    const int64_t stride = 1 + actual.numel() / 200;
    const double scale = std::max(1.0, scale_of(actual));
    for (int64_t at = 0; at < actual.numel(); at += stride)
      EXPECT_NEAR(actual.data_ptr<float>()[at], derivative(of, at), 1e-5 * scale)
          << what << " at " << at;
  }
};

class RandomBlocks : public testing::TestWithParam<Size> {};

TEST_P(RandomBlocks, MatchAPlainReferenceInDouble) {
  const Case made = random_case(GetParam());
  Reference reference(made);
  for (const AttentionPath path : {kFused, kOperators}) {
    const Attention attention = made.forward(path);
    const std::vector<double> out = reference.out();
    ASSERT_EQ(attention.out.numel(), static_cast<int64_t>(out.size()));
    for (size_t at = 0; at < out.size(); ++at)
      EXPECT_NEAR(attention.out.data_ptr<float>()[at], out[at], 1e-5) << at;

    const AttentionGradients grads = made.backward(path, attention);
    reference.expect_gradient(grads.att_src, reference.att_src, "gradient of att_src");
    reference.expect_gradient(grads.att_dst, reference.att_dst, "gradient of att_dst");
    reference.expect_gradient(grads.z, reference.z, "gradient of z");
  }
}

TEST_P(RandomBlocks, AreTheSameFusedAndByOperators) {
  const Case made = random_case(GetParam());
  const Attention fused = made.forward(kFused);
  const Attention operators = made.forward(kOperators);
  expect_same(fused, operators);
  expect_same(made.backward(kFused, fused), made.backward(kOperators, operators));
}

INSTANTIATE_TEST_SUITE_P(Attention, RandomBlocks,
                         testing::Values(Size{1, 5, 12, 30}, Size{8, 7, 12, 30},
                                         Size{2, 33, 20, 41}, Size{8, 32, 15, 15}, Size{1, 1, 3, 9},
                                         Size{3, 8, 1, 2}));

// ---- PyG's own numbers ----

class PygLayers : public testing::TestWithParam<std::string> {};

TEST_P(PygLayers, AreMatchedForwardAndBackward) {
  const std::filesystem::path file = golden_file();
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";

  const nlohmann::json golden = nlohmann::json::parse(std::ifstream(file));
  const nlohmann::json& layer = golden.at("layers").at(GetParam());
  const nlohmann::json& state = layer.at("state_dict");
  const nlohmann::json& grads = layer.at("grads");
  const at::Tensor x = read_floats(golden.at("x"));
  const BlockTensors block = block_of(read_lists(golden), x.size(0));
  const at::Tensor weight = read_floats(state.at("lin_src.weight"));
  const at::Tensor att_src = read_floats(state.at("att_src"));
  const at::Tensor att_dst = read_floats(state.at("att_dst"));
  const at::Tensor z = x.mm(weight.t());

  const AttentionArguments arguments = {z, att_src, att_dst, block};
  const Attention attention = attend(arguments);
  const at::Tensor expected = read_floats(layer.at("output"));
  expect_close(attention.out + read_floats(state.at("bias")), expected, scale_of(expected), "out");

  const at::Tensor grad_out = at::arange(expected.numel(), at::kFloat).view_as(expected);
  const AttentionGradients actual = attend_backward(arguments, grad_out, attention);
  const at::Tensor grad_x = read_floats(layer.at("grad_x"));
  const at::Tensor grad_weight = read_floats(grads.at("lin_src.weight"));
  const at::Tensor grad_src = read_floats(grads.at("att_src"));
  const at::Tensor grad_dst = read_floats(grads.at("att_dst"));
  expect_close(actual.z.mm(weight), grad_x, scale_of(grad_x), "gradient of x");
  expect_close(actual.z.t().mm(x), grad_weight, scale_of(grad_weight), "gradient of the weight");
  expect_close(actual.att_src, grad_src, scale_of(grad_src), "gradient of att_src");
  // With one head all of att_dst's gradient cancels out: the terms are as large as att_src's.
  const double scale = std::max(scale_of(grad_src), scale_of(grad_dst));
  expect_close(actual.att_dst, grad_dst, scale, "gradient of att_dst");
}

INSTANTIATE_TEST_SUITE_P(Attention, PygLayers,
                         testing::Values("GATConv_heads2_concat", "GATConv_heads1"),
                         [](const auto& test) { return test.param; });

// ---- promises ----

struct Results {
  Attention attention;
  AttentionGradients grads;
};

Results run_on_threads(const Case& made, unsigned threads) {
  set_computing_threads(threads);
  Results results;
  results.attention = attend(made.arguments());
  results.grads = attend_backward(made.arguments(), made.grad_out, results.attention);
  set_computing_threads(1);
  return results;
}

TEST(Attention, IsTheSameToTheBitOnAnyNumberOfThreads) {
  const Case made = random_case({4, 9, 500, 1300});
  const Results one = run_on_threads(made, 1);
  for (const unsigned threads : {2, 3, 16}) {
    const Results many = run_on_threads(made, threads);
    EXPECT_TRUE(many.attention.out.equal(one.attention.out)) << threads;
    EXPECT_TRUE(many.attention.weights.equal(one.attention.weights)) << threads;
    EXPECT_TRUE(many.grads.z.equal(one.grads.z)) << threads;
    EXPECT_TRUE(many.grads.att_src.equal(one.grads.att_src)) << threads;
    EXPECT_TRUE(many.grads.att_dst.equal(one.grads.att_dst)) << threads;
  }
}

TEST(Attention, IsTheSameOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const Case made = random_case({8, 7, 50, 120});
  Case there = made;
  for (at::Tensor* tensor :
       {&there.z, &there.att_src, &there.att_dst, &there.grad_out, &there.block.offsets,
        &there.block.indices, &there.block.source_offsets, &there.block.by_source,
        &there.block.source_edges})
    *tensor = tensor->to(at::kCUDA);
  const Attention here = attend(made.arguments());
  const Attention away = attend(there.arguments());
  expect_same(here, away);
  expect_same(attend_backward(made.arguments(), made.grad_out, here),
              attend_backward(there.arguments(), there.grad_out, away));
}

TEST(Attention, WeighsEveryListToOne) {
  const Case made = random_case({2, 5, 12, 30});
  const at::Tensor weights = made.forward(kFused).weights;
  const int64_t edges = made.block.indices.numel();
  int64_t begin = 0;
  for (int64_t i = 0; i < made.block.destinations; ++i) {
    const int64_t end = begin + static_cast<int64_t>(made.lists[i].size());
    const at::Tensor sum = weights.slice(0, begin, end).sum(0) + weights[edges + i];
    expect_close(sum, at::ones_like(sum), 1, "sum of list " + std::to_string(i));
    begin = end;
  }
}

TEST(Attention, OfADestinationWithoutAListIsItself) {
  const Case made = random_case({2, 5, 12, 30});
  ASSERT_TRUE(made.lists[0].empty());
  EXPECT_TRUE(made.forward(kFused).out[0].equal(made.z[0]));
}

TEST(Attention, StaysFiniteWithExtremeScores) {
  Case made = random_case({2, 5, 12, 30});
  made.z = made.z * 1e4;
  for (const AttentionPath path : {kFused, kOperators}) {
    const Attention attention = made.forward(path);
    ASSERT_GT(scale_of(attention.source_scores), 1e4);
    const AttentionGradients grads = made.backward(path, attention);
    for (const at::Tensor& tensor :
         {attention.out, attention.weights, grads.z, grads.att_src, grads.att_dst})
      EXPECT_TRUE(at::isfinite(tensor).all().item<bool>());
  }
}

TEST(Attention, TakesABlockWithoutEdgesOrDestinations) {
  for (const Adjacency& lists : {Adjacency(3), Adjacency()}) {
    Case made = random_case({2, 5, 3, 4});
    made.block = block_of(lists, 4);
    made.grad_out = made.grad_out.slice(0, 0, made.block.destinations);
    const Attention fused = made.forward(kFused);
    const Attention operators = made.forward(kOperators);
    expect_same(fused, operators);
    expect_same(made.backward(kFused, fused), made.backward(kOperators, operators));
  }
}

TEST(Attention, TakesTensorsThatAreNotContiguous) {
  const Case made = random_case({2, 5, 12, 30});
  Case strided = made;
  strided.z = made.z.t().contiguous().t();
  strided.grad_out = made.grad_out.t().contiguous().t();
  const Attention attention = made.forward(kFused);
  EXPECT_TRUE(strided.forward(kFused).out.equal(attention.out));
  EXPECT_TRUE(strided.backward(kFused, attention).z.equal(made.backward(kFused, attention).z));
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
    return "no refusal";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    return error.what();
  }
}

TEST(Attention, RefusesTensorsThatDoNotFit) {
  const Case made = random_case({2, 5, 12, 30});
  Case wrong = made;
  wrong.z = made.z.slice(0, 0, 29);
  EXPECT_THAT(refusal_of([&] { wrong.forward(kFused); }),
              HasSubstr("z has the shape [29, 10], not [30, 10]"));
  wrong = made;
  wrong.att_dst = made.att_dst.to(at::kDouble);
  EXPECT_THAT(refusal_of([&] { wrong.forward(kFused); }), HasSubstr("att_dst holds Double"));
  wrong = made;
  wrong.block.source_edges = at::Tensor();
  const Attention attention = wrong.forward(kFused);
  EXPECT_THAT(refusal_of([&] { wrong.backward(kFused, attention); }),
              HasSubstr("source_edges is undefined"));
}

}  // namespace
}  // namespace plimsoll::nn
