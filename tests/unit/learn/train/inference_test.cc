// Batches on their way through a model: the feeder, parts of a batch, and answers for whole lists
// of nodes.
#include "train/inference.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "nn/operations.h"
#include "nn/threads.h"
#include "train/small_graph.h"
#include "train/small_run.h"

namespace plimsoll::train {
namespace {

// ---- the feeder ----

std::vector<uint32_t> copy_of(std::span<const uint32_t> values) {
  return {values.begin(), values.end()};
}

class Feeding : public testing::Test {
 protected:
  batch::Pass pass(uint64_t first_batch = 0) const {
    return {.seeds = batch::Seeds::in_order(asked_.nodes),
            .labels = asked_.labels,
            .batch_size = 2,
            .first_batch = first_batch,
            .key = 4,
            .gradients = true};
  }
  // The nodes of each batch of a pass.
  std::vector<std::vector<uint32_t>> run(const batch::Pass& pass) {
    std::vector<std::vector<uint32_t>> nodes;
    feeder_.start(pass);
    for (const FedBatch* fed = &feeder_.next(); fed->batch != nullptr; fed = &feeder_.next()) {
      nodes.push_back(copy_of(fed->batch->nodes));
      feeder_.done();
    }
    return nodes;
  }

  SmallGraph graph_;
  Asked asked_{60};
  BatchFeed source_ = make_source(graph_, ModelKind::gat, {3, 2});
  Feeder& feeder_ = source_.feeder;
};

TEST_F(Feeding, GivesEveryBatchInOrderAsTensorsOverItsMemory) {
  feeder_.start(pass());
  for (uint64_t i = 0; i < 5; ++i) {
    const FedBatch& fed = feeder_.next();
    ASSERT_NE(fed.batch, nullptr);
    EXPECT_EQ(&feeder_.next(), &fed) << "the same one until done()";
    EXPECT_EQ(fed.batch->index, i);
    EXPECT_EQ(fed.batch->first_seed, 2 * i);
    EXPECT_EQ(fed.batch->seeds, i < 4 ? 2U : 1U);
    EXPECT_EQ(fed.batch->nodes[0], asked_.nodes[2 * i]);
    ASSERT_TRUE(fed.tensors);
    EXPECT_EQ(fed.tensors->nodes.data_ptr(), fed.batch->nodes.data());
    EXPECT_EQ(fed.tensors->nodes.size(0), static_cast<int64_t>(fed.batch->nodes.size()));
    EXPECT_EQ(fed.tensors->input.data_ptr(), fed.batch->input.data);
    EXPECT_EQ(fed.tensors->labels.size(0), fed.batch->seeds);
    EXPECT_EQ(fed.tensors->labels[0].item<int32_t>(), asked_.labels[2 * i]);
    ASSERT_EQ(fed.tensors->blocks.size(), 2U);
    EXPECT_EQ(fed.tensors->blocks[1].destinations, fed.batch->seeds);
    EXPECT_EQ(fed.tensors->blocks[1].sources, fed.tensors->blocks[0].destinations);
    EXPECT_TRUE(fed.tensors->blocks[0].source_offsets.defined());
    feeder_.done();
  }
  EXPECT_EQ(feeder_.next().batch, nullptr);
  EXPECT_EQ(feeder_.next().batch, nullptr);
}

TEST_F(Feeding, BeginsAgainAfterBeingDropped) {
  const auto whole = run(pass());
  ASSERT_EQ(whole.size(), 5U);
  feeder_.start(pass());
  feeder_.next();
  feeder_.done();
  feeder_.next();
  feeder_.drop();
  EXPECT_EQ(feeder_.next().batch, nullptr) << "nothing to give without a pass";
  EXPECT_EQ(run(pass()), whole);
}

TEST_F(Feeding, LeavesAPassForAnother) {
  const auto whole = run(pass());
  feeder_.start(pass());
  feeder_.next();
  const auto rest = run(pass(/*first_batch=*/3));
  EXPECT_EQ(rest, (std::vector{whole[3], whole[4]}));
}

TEST_F(Feeding, EndsInTheMiddleOfAPass) {
  BatchFeed other = make_source(graph_, ModelKind::gcn, {3, 2});
  other.feeder.start(pass());
  EXPECT_NE(other.feeder.next().batch, nullptr);
}

TEST_F(Feeding, HasNoBatchForAnEmptyList) {
  feeder_.start({.seeds = batch::Seeds::all(0), .batch_size = 2});
  EXPECT_EQ(feeder_.next().batch, nullptr);
}

// ---- answers ----

void expect_dense(SmallGraph& graph, const nn::ModelShape& shape, Evaluation evaluation) {
  nn::set_computing_threads(2);
  nn::Model model(shape, 1, kCpu);
  nn::shake(model);
  BatchFeed source = make_source(graph, shape.kind, std::vector<uint32_t>(shape.layers, kAll));
  Inference inference(
      model, place_of(graph), graph.rows(), source,
      {.evaluation = evaluation, .batch_size = 16, .seed = 3, .embeddings = shape.layers > 1});
  const Asked asked(static_cast<uint32_t>(graph.x().size(0)));
  const std::vector<NodeQuery> queries = {
      {batch::Seeds::in_order(asked.nodes), asked.labels},
      {batch::Seeds::all(graph.rows().shape().count), {}},
  };
  const nn::DenseOutputs expected = graph.dense_outputs(model);
  const std::vector<Said> said = ask(inference, queries, shape);
  std::vector<int64_t> rows(asked.nodes.begin(), asked.nodes.end());
  const at::Tensor asked_rows = nn::tensor_of(rows, at::kLong);
  nn::expect_close(said[0].logits, expected.logits.index_select(0, asked_rows), "logits");
  EXPECT_EQ(said[0].labels, asked.labels);
  nn::expect_close(said[1].logits, expected.logits, "logits of all");
  EXPECT_TRUE(said[1].labels.empty());
  if (shape.layers == 1) return;
  nn::expect_close(said[0].embeddings, expected.embeddings.index_select(0, asked_rows),
                   "embeddings");
  nn::expect_close(said[1].embeddings, expected.embeddings, "embeddings of all");
}

class Answers : public testing::TestWithParam<std::tuple<ModelKind, int, Evaluation>> {};

TEST_P(Answers, AreThoseOfADenseModelOverTheWholeGraph) {
  const auto [kind, layers, evaluation] = GetParam();
  SmallGraph graph;
  for (const bool batch_norm : {false, true}) {
    SCOPED_TRACE(batch_norm ? "with batch norm" : "without batch norm");
    expect_dense(graph, shape_of(kind, layers, batch_norm), evaluation);
  }
}

INSTANTIATE_TEST_SUITE_P(Inference, Answers,
                         testing::Combine(testing::Values(ModelKind::gcn, ModelKind::sage,
                                                          ModelKind::gat, ModelKind::mlp),
                                          testing::Values(1, 2, 3),
                                          testing::Values(Evaluation::sampled, Evaluation::full)),
                         [](const auto& test) {
                           return std::string(recipe::name(std::get<0>(test.param))) +
                                  std::to_string(std::get<1>(test.param)) +
                                  std::string(recipe::name(std::get<2>(test.param)));
                         });

TEST(Inference, TakesMoreNodesThanABatchHolds) {
  SmallGraph graph(2500);
  for (const ModelKind kind : {ModelKind::gcn, ModelKind::sage})
    expect_dense(graph, shape_of(kind, 2), Evaluation::full);
}

TEST(Inference, GivesItsMemoryBack) {
  SmallGraph graph;
  nn::Model model(shape_of(ModelKind::gat, 3), 1, kCpu);
  BatchFeed source = make_source(graph, ModelKind::gat, {2, 2, 2});
  source.pipeline.release();
  const uint64_t before = graph.ledger().used_bytes();
  Inference inference(model, place_of(graph), graph.rows(), source,
                      {.evaluation = Evaluation::full});
  const std::vector<NodeQuery> queries = {{batch::Seeds::all(60), {}}};
  ask(inference, queries, model.shape());
  EXPECT_EQ(graph.ledger().used_bytes(), before);
}

batch::Split split_of(const std::vector<uint32_t>& nodes, const std::vector<int32_t>& labels,
                      memory::Ledger& ledger) {
  batch::Split split{{ledger, "split", nodes.size()}, {ledger, "split", labels.size()}};
  std::copy(nodes.begin(), nodes.end(), split.nodes.begin());
  std::copy(labels.begin(), labels.end(), split.labels.begin());
  return split;
}

TEST(Accuracies, AreTheSharesOfNodesLabelledRight) {
  SmallGraph graph;
  nn::Model model(shape_of(ModelKind::sage, 2), 1, kCpu);
  nn::shake(model);
  const at::Tensor best = graph.dense_outputs(model).logits.argmax(1);
  std::vector<uint32_t> nodes(40);
  std::iota(nodes.begin(), nodes.end(), 11);
  std::vector<int32_t> right, half_right;
  for (const uint32_t node : nodes) {
    const auto label = best[node].item<int32_t>();
    right.push_back(label);
    half_right.push_back(node % 2 == 0 ? label : (label + 1) % 5);
  }
  const batch::Split all = split_of(nodes, right, graph.ledger());
  const batch::Split half = split_of(nodes, half_right, graph.ledger());
  const batch::Split none;
  for (const Evaluation evaluation : {Evaluation::sampled, Evaluation::full}) {
    BatchFeed source = make_source(graph, ModelKind::sage, {kAll, kAll});
    Inference inference(model, place_of(graph), graph.rows(), source,
                        {.evaluation = evaluation, .batch_size = 16});
    TrainReport report(/*bars=*/false);
    const std::vector<const batch::Split*> splits = {&all, &none, &half};
    EXPECT_EQ(accuracies(inference, splits, report),
              (std::vector<std::optional<double>>{1.0, std::nullopt, 0.5}));
  }
}

}  // namespace
}  // namespace plimsoll::train
