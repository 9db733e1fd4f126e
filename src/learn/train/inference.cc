#include "train/inference.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "batch/layerwise.h"
#include "nn/operations.h"
#include "train/gpu_training.h"
#include "train/torch_errors.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kEvaluationKey = 0x6576616c;  // makes the sampling differ from training

nn::LayerInput layer_input(const nn::BatchTensors& tensors) {
  return {.x = tensors.input,
          .own = tensors.own,
          .block = tensors.blocks.empty() ? nullptr : &tensors.blocks.front()};
}

// `why` ends with a remedy.
[[noreturn]] void fail_for_one_node(c10::Device device, const std::string& why) {
  fail(ErrorKind::memory,
       "evaluating one node with its neighbours does not fit into {}: {}, or use --eval sampled",
       device.is_cpu() ? "the limit" : "the GPU", why);
}

}  // namespace

// Runs one pass and calls `body` for every batch, with its tensors on the device. If memory is
// short, the batch is made again in parts; so a body that throws because of that must not have
// changed anything.
void Inference::for_each_batch(
    BatchFeed& feed, const batch::Pass& pass, TrainReport& report,
    const std::function<void(const batch::Batch&, const nn::BatchTensors&)>& body) {
  report.begin_pass("Evaluating", pass.seeds.batches(pass.batch_size), 0);
  feed.feeder.start(pass);
  for (FedBatch* fed = &feed.feeder.next(); fed->batch != nullptr; fed = &feed.feeder.next()) {
    options_.check();
    bool fits = fed->tensors.has_value();
    std::string why = kNoRoomForCopy;
    try {
      if (fits) body(*fed->batch, *fed->tensors);
    } catch (...) {
      if (!is_shortage(std::current_exception())) throw;
      why = as_error(std::current_exception())->what();
      fits = false;
    }
    if (!fits) {
      if (feed.feeder.retry(/*from_its_start=*/false)) continue;
      fail_for_one_node(place_.device, why);
    }
    if (fed->batch->last_part()) report.advance(fed->batch->index + 1);
    feed.feeder.done();
    if (options_.group != nullptr) options_.group->progress();
    throw_if_interrupted();
  }
  report.end_pass();
}

void Inference::answer(std::span<const NodeQuery> queries, TrainReport& report, const Take& take) {
  if (is_full()) {
    answer_full(queries, report, take);
  } else if (gpu_ != nullptr) {
    answer_on_gpu(queries, report, take);
  } else {
    answer_sampled(queries, report, take);
  }
}

bool Inference::is_full() const {
  return options_.evaluation == recipe::Evaluation::full &&
         model_.shape().kind != recipe::ModelKind::mlp;
}

batch::BatchCut Inference::cut() const {
  if (options_.group == nullptr) return {};
  const ranks::RankPlace& place = options_.group->place();
  return {place.rank, place.size};
}

batch::Pass Inference::sampled_pass(const NodeQuery& query) const {
  return {.seeds = query.seeds,
          .labels = query.labels,
          .batch_size = options_.batch_size,
          .key = RandomStream(options_.seed, kEvaluationKey).at(0),
          .cut = cut()};
}

void Inference::answer_sampled(std::span<const NodeQuery> queries, TrainReport& report,
                               const Take& take) {
  for (size_t i = 0; i < queries.size(); ++i) {
    for_each_batch(
        sampled_, sampled_pass(queries[i]), report,
        [&](const batch::Batch& batch, const nn::BatchTensors& tensors) {
          take({i, batch.first_seed, model_.forward(tensors, /*training=*/false), tensors.labels});
        });
  }
}

void Inference::answer_on_gpu(std::span<const NodeQuery> queries, TrainReport& report,
                              const Take& take) {
  for (size_t i = 0; i < queries.size(); ++i) {
    const batch::Seeds& seeds = queries[i].seeds;
    report.begin_pass("Evaluating", seeds.batches(options_.batch_size), 0);
    gpu_->evaluate({.seeds = seeds,
                    .labels = queries[i].labels,
                    .draws_key = RandomStream(options_.seed, kEvaluationKey).at(0),
                    .embeddings = options_.embeddings},
                   [&](const GpuTraining::EvaluatedPart& part) {
                     options_.check();
                     throw_if_interrupted();
                     take({i, part.first, part.outputs, part.labels});
                     report.advance(part.first / options_.batch_size + 1);
                   });
    report.end_pass();
  }
}

// Goes layer by layer, so that no node's value is computed twice: each layer computes the nodes
// that the next one needs, the last layer the nodes of the queries. Each layer has its own
// pipeline, which uses the memory of the released training pipeline.
void Inference::answer_full(std::span<const NodeQuery> queries, TrainReport& report,
                            const Take& take) {
  sampled_.feeder.drop();
  sampled_.pipeline.release();  // it takes memory again in its next pass
  const auto layers = static_cast<size_t>(model_.shape().layers);
  std::vector<batch::Seeds> asked;
  for (const NodeQuery& query : queries) asked.push_back(query.seeds);
  const std::vector<memory::IndexSet> needed =
      batch::needed_nodes(asked, layers - 1, place_.topology, place_.ledger);
  const feature::RowSource* rows = &features_;
  std::unique_ptr<batch::HiddenRows> hidden;
  for (size_t layer = 0; layer + 1 < layers; ++layer) {
    auto out = std::make_unique<batch::HiddenRows>(
        needed[layer],
        batch::HiddenRows::Options{.columns = static_cast<uint32_t>(model_.shape().hidden),
                                   .folder = options_.scratch,
                                   .spare_bytes = options_.full_batch_bytes},
        place_.ledger);
    compute_layer(layer, *rows, needed[layer], *out, report);
    hidden = std::move(out);
    const plan::Arrangement& arrangement = place_.arrangement;
    rows = &hidden->finish({.count = arrangement.workers,
                            .area_bytes = arrangement.area_bytes,
                            .windows = arrangement.window > 1 ? batch::kWindows : 0,
                            .window_bytes = arrangement.window_bytes});
  }
  answer_last_layer(*rows, queries, report, take);
}

void Inference::compute_layer(size_t layer, const feature::RowSource& rows,
                              const memory::IndexSet& nodes, batch::HiddenRows& out,
                              TrainReport& report) {
  const bool summed = layer == 0 && options_.first_layer != graph::FirstLayer::none;
  batch::Assembly assembly = batch::assembly_for(model_.shape().kind, recipe::Norm::full);
  assembly.precomputed = summed;
  BatchFeed feed(place_, rows,
                 {.fanout = {summed ? 0 : recipe::kAllNeighbors}, .assembly = assembly});
  const batch::Pass pass = {.seeds = batch::Seeds::members(nodes),
                            .batch_size = batch::kFullBatchNodes};
  for_each_batch(feed, pass, report,
                 [&](const batch::Batch& /*batch*/, const nn::BatchTensors& tensors) {
                   const at::Tensor values =
                       model_.layer(layer, layer_input(tensors)).to(at::kCPU).contiguous();
                   out.append(values.data_ptr<float>(), static_cast<uint64_t>(values.size(0)));
                 });
}

void Inference::answer_last_layer(const feature::RowSource& rows,
                                  std::span<const NodeQuery> queries, TrainReport& report,
                                  const Take& take) {
  const auto last = static_cast<size_t>(model_.shape().layers - 1);
  batch::Assembly assembly = batch::assembly_for(model_.shape().kind, recipe::Norm::full);
  assembly.precomputed = last == 0 && options_.first_layer != graph::FirstLayer::none;
  if (options_.embeddings && assembly.input == batch::Input::aggregated) {
    assembly.input = batch::Input::aggregated_and_own;
  }
  BatchFeed feed(
      place_, rows,
      {.fanout = {assembly.precomputed ? 0 : recipe::kAllNeighbors}, .assembly = assembly});
  for (size_t i = 0; i < queries.size(); ++i) {
    const batch::Pass pass = {.seeds = queries[i].seeds,
                              .labels = queries[i].labels,
                              .batch_size = batch::kFullBatchNodes};
    for_each_batch(feed, pass, report,
                   [&](const batch::Batch& batch, const nn::BatchTensors& tensors) {
                     nn::Outputs outputs{.logits = model_.layer(last, layer_input(tensors))};
                     if (options_.embeddings && last > 0) {
                       const at::Tensor& own = tensors.own.defined() ? tensors.own : tensors.input;
                       outputs.embeddings = own.narrow(0, 0, batch.seeds);
                     }
                     take({i, batch.first_seed, std::move(outputs), tensors.labels});
                   });
  }
}

namespace {

// The nodes of each split that this rank evaluates. A sampled evaluation draws by batch, so the
// pipeline cuts its batches; there the queries are the whole splits.
std::vector<NodeQuery> own_queries(const Inference& inference,
                                   std::span<const batch::Split* const> splits) {
  const batch::BatchCut cut = inference.is_full() ? inference.cut() : batch::BatchCut();
  std::vector<NodeQuery> queries;
  for (const batch::Split* split : splits) {
    const uint64_t first = cut.begin(split->nodes.size());
    const uint64_t count = cut.end(split->nodes.size()) - first;
    queries.push_back({batch::Seeds::in_order(split->nodes.span().subspan(first, count)),
                       split->labels.span().subspan(first, count)});
  }
  return queries;
}

// Adds up the counts of all ranks. Throws Interrupted if one of them was asked to stop.
void add_up(RankGroup& group, std::vector<double>& counts, int own_signal) {
  const auto size = static_cast<int64_t>(counts.size());
  at::Tensor sums = at::empty({size + 2}, at::kDouble);
  auto* const values = sums.data_ptr<double>();
  std::copy(counts.begin(), counts.end(), values);
  values[size] = own_signal == 0 ? 0 : 1;
  values[size + 1] = own_signal;
  group.sum(sums);
  if (values[size] > 0) throw Interrupted(static_cast<int>(values[size + 1] / values[size]));
  std::copy_n(values, counts.size(), counts.begin());
}

}  // namespace

std::vector<batch::Pass> evaluation_passes(const Inference& inference,
                                           std::span<const batch::Split* const> splits) {
  std::vector<batch::Pass> passes;
  for (const NodeQuery& query : own_queries(inference, splits)) {
    passes.push_back(inference.sampled_pass(query));
  }
  return passes;
}

std::vector<std::optional<double>> accuracies(Inference& inference,
                                              std::span<const batch::Split* const> splits,
                                              TrainReport& report) {
  std::vector<at::Tensor> correct(splits.size());
  int signal_number = 0;
  try {
    inference.answer(own_queries(inference, splits), report, [&](const Answer& answer) {
      const at::Tensor count = nn::count_correct(answer.outputs.logits, answer.labels);
      at::Tensor& sum = correct[answer.query];
      sum = sum.defined() ? sum.add(count) : count;
    });
  } catch (const Interrupted& interrupted) {
    if (inference.group() == nullptr) throw;
    signal_number = interrupted.signal_number();  // the other ranks must know
  }
  std::vector<double> counts;
  counts.reserve(correct.size());
  for (const at::Tensor& sum : correct) counts.push_back(sum.defined() ? sum.item<double>() : 0);
  if (inference.group() != nullptr) add_up(*inference.group(), counts, signal_number);
  std::vector<std::optional<double>> shares(splits.size());
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i]->nodes.size() == 0) continue;
    shares[i] = counts[i] / static_cast<double>(splits[i]->nodes.size());
  }
  return shares;
}

}  // namespace plimsoll::train
