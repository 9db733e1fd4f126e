// What is planned for a model and its tensors is what torch then takes.
#include "nn/footprint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "nn/model.h"
#include "train/small_run.h"
#include "train/tensor_memory.h"

namespace plimsoll::train {
namespace {

// The most that tensors took of the ledger at one time.
uint64_t most_tensors(const memory::Ledger& ledger, uint64_t before) {
  return ledger.peak_bytes() - before;
}

sample::BatchSize size_of(const batch::Batch& batch, ModelKind kind, int64_t layers) {
  sample::BatchSize size{.seeds = batch.seeds, .nodes = batch.nodes.size()};
  for (size_t i = batch.blocks.size(); i-- > 0;) {
    size.hops.push_back({batch.blocks[i].destinations, batch.blocks[i].indices.size()});
  }
  // The hop whose sums are made with the batch has no block any more; its edges take no tensor.
  if (kind != ModelKind::mlp && size.hops.size() < static_cast<size_t>(layers)) {
    size.hops.push_back({batch.input.rows, batch.nodes.size()});
  }
  return size;
}

class TensorsOf : public testing::TestWithParam<std::tuple<ModelKind, int, bool>> {};

INSTANTIATE_TEST_SUITE_P(Models, TensorsOf,
                         testing::Combine(testing::Values(ModelKind::gcn, ModelKind::sage,
                                                          ModelKind::gat, ModelKind::mlp),
                                          testing::Values(1, 2, 3), testing::Bool()),
                         [](const auto& test) {
                           return std::string(recipe::name(std::get<0>(test.param))) +
                                  std::to_string(std::get<1>(test.param)) +
                                  (std::get<2>(test.param) ? "Norm" : "");
                         });

TEST_P(TensorsOf, TakeWhatWasPlanned) {
  const auto [kind, layers, batch_norm] = GetParam();
  for (const int64_t hidden : {64, 512}) {
    SmallGraph graph(20'000, 32);
    const Asked asked(20'000);
    BatchFeed source = make_source(graph, kind, std::vector<uint32_t>(layers, 6));
    source.feeder.start({.seeds = batch::Seeds::in_order(asked.nodes),
                         .labels = asked.labels,
                         .batch_size = 1'000,
                         .key = 1,
                         .gradients = true});
    const batch::Batch& batch = *source.feeder.next().batch;
    const nn::ModelShape shape = {.kind = kind,
                                  .inputs = 32,
                                  .hidden = hidden,
                                  .classes = 40,
                                  .layers = layers,
                                  .heads = kind == ModelKind::gat ? 4 : 1,
                                  .dropout = 0.5,
                                  .batch_norm = batch_norm};
    const nn::Dimensions dimensions = {.kind = kind,
                                       .inputs = 32,
                                       .hidden = static_cast<uint64_t>(hidden),
                                       .classes = 40,
                                       .layers = static_cast<uint64_t>(layers),
                                       .heads = static_cast<uint64_t>(shape.heads),
                                       .batch_norm = batch_norm};
    memory::Ledger ledger(kGiB);
    const TensorMemory tensors(ledger);
    nn::Model model(shape, 1, kCpu);
    nn::Adam adam(model.values());
    EXPECT_EQ(static_cast<uint64_t>(model.parameter_count()), nn::parameter_count(dimensions));
    const uint64_t model_bytes = ledger.peak_bytes();
    EXPECT_LE(model_bytes, nn::model_bytes(dimensions) + kMiB);
    EXPECT_GE(model_bytes + 4 * 64 * kKiB, nn::model_bytes(dimensions) * 9 / 10);
    {
      const nn::BatchTensors views = view_tensors(batch);
      const at::Tensor logits = model.forward(views, /*training=*/true, /*dropout_key=*/9).logits;
      const nn::Loss loss = nn::cross_entropy(logits, views.labels, 0.1, batch.seeds);
      model.gradients().zero_();
      model.backward(loss.gradient);
      adam.step(model.values(), model.gradients(), 0.01, 1e-4);
    }
    const uint64_t most = most_tensors(ledger, model_bytes);
    const uint64_t planned = nn::activation_bytes(dimensions, size_of(batch, kind, layers));
    EXPECT_LE(most, planned) << "hidden " << hidden;
    EXPECT_GE(most + most / 2 + 2 * kMiB, planned) << "hidden " << hidden;
    source.feeder.done();
    source.feeder.drop();
  }
}

}  // namespace
}  // namespace plimsoll::train
