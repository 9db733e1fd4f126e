// Computing on several threads: the work is cut as promised, and no result knows of their number.
#include "nn/threads.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/model.h"
#include "nn/operations.h"
#include "nn/small_block.h"

namespace plimsoll::nn {
namespace {

using recipe::ModelKind;

constexpr unsigned kThreads[] = {1, 2, 3, 16};

class Threads : public testing::Test {
 protected:
  void TearDown() override { set_computing_threads(1); }
};

TEST_F(Threads, GetEveryBlockOnce) {
  using Blocks = std::multiset<std::pair<int64_t, int64_t>>;
  for (const unsigned threads : kThreads) {
    set_computing_threads(threads);
    for (const int64_t rows : {0, 1, 63, 64, 65, 1000}) {
      Blocks expected;
      for (int64_t first = 0; first < rows; first += 64) {
        expected.emplace(first, std::min(rows, first + 64));
      }
      Blocks seen;
      std::mutex mutex;
      for_blocks(rows, 64, [&](int64_t first, int64_t last) {
        const std::lock_guard lock(mutex);
        seen.emplace(first, last);
      });
      EXPECT_EQ(seen, expected) << rows << " rows on " << threads << " threads";
    }
  }
}

// Else the tests of many threads would test one, on a machine of few cores.
TEST_F(Threads, AreAsManyAsAskedForWhateverTheCores) {
  constexpr int kCount = 16;
  set_computing_threads(kCount);
  std::atomic<int> arrived = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for_blocks(kCount, 1, [&](int64_t, int64_t) {
    ++arrived;
    while (arrived < kCount && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(arrived, kCount) << "a block waited for others that nobody had begun";
  });
}

TEST_F(Threads, HandOnAnException) {
  for (const unsigned threads : kThreads) {
    set_computing_threads(threads);
    EXPECT_THROW(for_blocks(100, 1,
                            [](int64_t first, int64_t) {
                              if (first == 37) throw std::runtime_error("block 37");
                            }),
                 std::runtime_error);
  }
}

TEST_F(Threads, GiveTheSameProducts) {
  struct Shape {
    int64_t rows, inner, columns;
  };
  for (const Shape& shape : {Shape{1, 7, 3}, Shape{300, 128, 16}, Shape{2500, 128, 256},
                             Shape{1100, 256, 172}, Shape{20'000, 33, 47}}) {
    SCOPED_TRACE(shape.rows);
    std::mt19937 random(3);
    const at::Tensor a = random_normal({shape.rows, shape.inner}, random);
    const at::Tensor b = random_normal({shape.columns, shape.inner}, random).t();
    const at::Tensor g = random_normal({shape.rows, shape.columns}, random);
    const at::Tensor bias = random_normal({shape.columns}, random);
    const at::Tensor start = random_normal({shape.columns, shape.inner}, random);
    const auto all = [&] {
      std::vector<at::Tensor> results = {product(a, b), product_plus_bias(bias, a, b),
                                         g.clone(),     start.clone(),
                                         bias.clone(),  g.clone()};
      add_product(results[2], a, b);
      add_transposed_product(results[3], g, a);
      add_column_sums(results[4], g);
      add_bias(results[5], bias);
      return results;
    };
    const at::Tensor exact = a.to(at::kDouble).mm(b.to(at::kDouble));
    const std::vector<at::Tensor> expected = {exact,
                                              exact + bias,
                                              exact + g,
                                              g.to(at::kDouble).t().mm(a.to(at::kDouble)) + start,
                                              g.to(at::kDouble).sum(0) + bias,
                                              g.to(at::kDouble) + bias};
    set_computing_threads(1);
    const std::vector<at::Tensor> one = all();
    for (size_t i = 0; i < one.size(); ++i) expect_close(one[i], expected[i], std::to_string(i));
    for (const unsigned threads : kThreads) {
      set_computing_threads(threads);
      const std::vector<at::Tensor> many = all();
      for (size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(many[i].equal(one[i])) << "result " << i << " on " << threads << " threads";
      }
    }
  }
}

TEST_F(Threads, GiveTheSameClasses) {
  std::mt19937 random(5);
  const at::Tensor logits = random_normal({3000, 172}, random);
  set_computing_threads(1);
  const at::Tensor one = largest_column(logits);
  EXPECT_TRUE(one.equal(logits.argmax(1)));
  for (const unsigned threads : kThreads) {
    set_computing_threads(threads);
    EXPECT_TRUE(largest_column(logits).equal(one)) << threads;
  }
}

// ---- whole steps ----

// Large enough that everything is cut into several blocks.
struct LargeBatch {
  explicit LargeBatch(ModelKind kind) {
    constexpr int64_t kSeeds = 900;
    constexpr int64_t kInputs = 128;
    int64_t sources = kSeeds;
    for (int layer = 0; layer < 2 && kind != ModelKind::mlp; ++layer) {
      BlockTensors block = block_of(random_lists(sources, 2 * sources, random), 2 * sources);
      if (kind != ModelKind::gat) block.destination_scale = random_normal({sources}, random);
      if (kind == ModelKind::gcn) block.self_scale = random_normal({sources}, random);
      tensors.blocks.insert(tensors.blocks.begin(), block);
      sources *= 2;
    }
    tensors.input = random_normal({sources, kInputs}, random);
    tensors.nodes = at::arange(sources, at::kInt);
    tensors.labels = at::arange(kSeeds, at::kInt).remainder(kClasses);
    if (kind == ModelKind::gcn || kind == ModelKind::sage) {
      tensors.own = tensors.input.narrow(0, 0, tensors.blocks[0].destinations);
      tensors.input = aggregate(tensors.input, tensors.blocks[0]);
      tensors.blocks.erase(tensors.blocks.begin());
    }
  }

  static constexpr int64_t kClasses = 172;
  std::mt19937 random{17};
  BatchTensors tensors;
};

struct Learned {
  std::vector<at::Tensor> losses;
  std::vector<NamedTensor> state;
};

Learned learn(const ModelShape& shape, const BatchTensors& batch) {
  Model model(shape, 1, c10::Device(c10::DeviceType::CPU));
  Adam adam(model.values());
  Learned learned;
  for (uint64_t step = 0; step < 3; ++step) {
    model.gradients().zero_();
    const at::Tensor logits = model.forward(batch, /*training=*/true, step).logits;
    const Loss loss = cross_entropy(logits, batch.labels, 0.1, logits.size(0));
    model.backward(loss.gradient);
    adam.step(model.values(), model.gradients(), 0.01, 1e-4);
    learned.losses.push_back(loss.sum);
  }
  learned.losses.push_back(model.forward(batch, /*training=*/false).logits);
  learned.state = model.state();
  return learned;
}

class Steps : public testing::TestWithParam<std::tuple<ModelKind, bool>> {
 protected:
  void TearDown() override { set_computing_threads(1); }
};

TEST_P(Steps, AreTheSameToTheBitOnAnyNumberOfThreads) {
  const auto [kind, batch_norm] = GetParam();
  const LargeBatch batch(kind);
  const ModelShape shape = {.kind = kind,
                            .inputs = 128,
                            .hidden = 256,
                            .classes = LargeBatch::kClasses,
                            .layers = 2,
                            .heads = kind == ModelKind::gat ? 4 : 1,
                            .dropout = 0.5,
                            .batch_norm = batch_norm};
  set_computing_threads(1);
  const Learned one = learn(shape, batch.tensors);
  for (const unsigned threads : {2, 3, 16}) {
    set_computing_threads(threads);
    const Learned many = learn(shape, batch.tensors);
    for (size_t i = 0; i < one.losses.size(); ++i) {
      EXPECT_TRUE(many.losses[i].equal(one.losses[i])) << "loss " << i << ", " << threads;
    }
    for (size_t i = 0; i < one.state.size(); ++i) {
      EXPECT_TRUE(many.state[i].tensor.equal(one.state[i].tensor))
          << one.state[i].name << ", " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Steps,
                         testing::Combine(testing::Values(ModelKind::gcn, ModelKind::sage,
                                                          ModelKind::gat, ModelKind::mlp),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::string(recipe::name(std::get<0>(test.param))) +
                                  (std::get<1>(test.param) ? "WithBatchNorm" : "");
                         });

}  // namespace
}  // namespace plimsoll::nn
