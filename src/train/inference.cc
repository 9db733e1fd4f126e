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
#include "batch/slice.h"
#include "nn/loss.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kFullBatch = 2048;            // nodes of one batch with all neighbours
constexpr uint64_t kEvaluationKey = 0x6576616c;  // keeps these draws apart from training's

kernel::Rows as_rows(const memory::Buffer<float>& values, uint64_t columns) {
  return {.data = reinterpret_cast<const unsigned char*>(values.data()),
          .row_bytes = columns * sizeof(float),
          .count = values.size() / columns,
          .columns = static_cast<uint32_t>(columns)};
}

nn::LayerInput layer_input(const nn::BatchTensors& tensors) {
  return {.x = tensors.input,
          .own = tensors.own,
          .block = tensors.blocks.empty() ? nullptr : &tensors.blocks.front()};
}

// The seeds' own rows: what the last layer was given of them.
at::Tensor own_rows(const kernel::Rows& rows, const batch::Batch& batch) {
  at::Tensor out = at::empty({batch.seeds, rows.columns});
  kernel::best().gather({.rows = rows,
                         .nodes = batch.nodes.data(),
                         .out = out.data_ptr<float>(),
                         .last = batch.seeds});
  return out;
}

using Body = std::function<void(const batch::Batch&, const nn::BatchTensors&)>;

// For a batch that the device has no room for: each half of it, or their halves.
void run_in_halves(const batch::Batch& batch, c10::Device device, memory::Ledger& ledger,
                   const Body& body) {
  if (batch.seeds < 2) {
    fail(ErrorKind::memory,
         "one node's neighbourhood does not fit the device; lower --fanout, or use --device cpu");
  }
  const uint32_t middle = batch.seeds / 2;
  for (const auto& [first, last] : {std::pair(0U, middle), std::pair(middle, batch.seeds)}) {
    const batch::Slice half(batch, first, last, ledger);
    try {
      body(half.batch(), to_device(view_tensors(half.batch()), device));
    } catch (const c10::OutOfMemoryError&) {
      run_in_halves(half.batch(), device, ledger, body);
    }
  }
}

// Runs one pass and hands over every batch, with its tensors on the device.
void for_each_batch(Source& source, const batch::Pass& pass, c10::Device device,
                    memory::Ledger& ledger, Report& report, const Body& body) {
  report.begin_pass("Evaluating", pass.seeds.batches(pass.batch_size), 0);
  source.feeder.start(pass);
  for (FedBatch* fed = &source.feeder.next(); fed->batch != nullptr; fed = &source.feeder.next()) {
    bool fits = fed->tensors.has_value();
    try {
      if (fits) body(*fed->batch, *fed->tensors);
    } catch (const c10::OutOfMemoryError&) {
      fed->tensors.reset();
      fits = false;
    }
    if (!fits) run_in_halves(*fed->batch, device, ledger, body);
    report.advance(fed->batch->index + 1);
    source.feeder.done();
    throw_if_interrupted();
  }
  report.end_pass();
}

}  // namespace

batch::Assembly assembly_for(recipe::ModelKind kind, recipe::Norm norm) {
  switch (kind) {
    case recipe::ModelKind::gcn:
      return {batch::Input::aggregated, norm == recipe::Norm::full ? batch::Weighting::gcn_full
                                                                   : batch::Weighting::gcn_sampled};
    case recipe::ModelKind::sage:
      return {batch::Input::aggregated_and_own, batch::Weighting::mean};
    case recipe::ModelKind::gat:
    case recipe::ModelKind::mlp:
      break;
  }
  return {batch::Input::rows, batch::Weighting::none};
}

ThreadShares share_threads(unsigned threads, unsigned workers, bool gpu) {
  // Batches that are ready wait without using a core, so on few cores both sides may have them all.
  const unsigned chosen = gpu ? std::max(1U, threads - 1) : std::max(1U, (threads + 1) / 2);
  const unsigned making = workers > 0 ? workers : chosen;
  return {making, gpu ? 1 : std::max(1U, threads - std::min(making, threads / 2))};
}

Source::Source(const sample::Topology& topology, const kernel::Rows& rows,
               std::vector<uint32_t> fanout, const batch::Assembly& assembly, unsigned workers,
               c10::Device device, memory::Ledger& ledger)
    : pages(pinned_pages(device)),
      pipeline(topology, rows,
               {.fanout = std::move(fanout),
                .assembly = assembly,
                .workers = workers,
                .slots = workers + 1 + (device.is_cpu() ? 1 : 1 + Feeder::kAhead),
                .pages = pages.get()},
               ledger),
      feeder(pipeline, device) {}

void Inference::answer(std::span<const Question> questions, Report& report, const Take& take) {
  if (options_.evaluation == recipe::Evaluation::full &&
      model_.shape().kind != recipe::ModelKind::mlp) {
    answer_full(questions, report, take);
  } else {
    answer_sampled(questions, report, take);
  }
}

void Inference::answer_sampled(std::span<const Question> questions, Report& report,
                               const Take& take) {
  for (size_t i = 0; i < questions.size(); ++i) {
    const batch::Pass pass = {.seeds = questions[i].seeds,
                              .labels = questions[i].labels,
                              .batch_size = options_.batch_size,
                              .key = RandomStream(options_.seed, kEvaluationKey).at(0)};
    for_each_batch(
        sampled_, pass, device_, ledger_, report,
        [&](const batch::Batch& batch, const nn::BatchTensors& tensors) {
          take({i, batch.first_seed, model_.forward(tensors, /*training=*/false), tensors.labels});
        });
  }
}

// Layer by layer over all nodes, so that no node's value is computed twice; the last layer for the
// nodes asked for alone.
void Inference::answer_full(std::span<const Question> questions, Report& report, const Take& take) {
  memory::Buffer<float> hidden;
  kernel::Rows rows = features_;
  for (int64_t layer = 0; layer + 1 < model_.shape().layers; ++layer) {
    hidden = compute_layer(static_cast<size_t>(layer), rows, report);
    rows = as_rows(hidden, static_cast<uint64_t>(model_.shape().hidden));
  }
  answer_last_layer(rows, questions, report, take);
}

memory::Buffer<float> Inference::compute_layer(size_t layer, const kernel::Rows& rows,
                                               Report& report) {
  const int64_t columns = model_.shape().hidden;
  const uint64_t nodes = topology_.nodes();
  memory::Buffer<float> out(ledger_, "hidden rows", nodes * static_cast<uint64_t>(columns));
  Source source(topology_, rows, {UINT32_MAX},
                assembly_for(model_.shape().kind, recipe::Norm::full), options_.workers, device_,
                ledger_);
  const batch::Pass pass = {.seeds = batch::Seeds::all(nodes), .batch_size = kFullBatch};
  for_each_batch(source, pass, device_, ledger_, report,
                 [&](const batch::Batch& batch, const nn::BatchTensors& tensors) {
                   const at::Tensor values = model_.layer(layer, layer_input(tensors));
                   float* place = out.data() + batch.first_seed * static_cast<uint64_t>(columns);
                   at::from_blob(place, {values.size(0), columns}).copy_(values);
                 });
  return out;
}

void Inference::answer_last_layer(const kernel::Rows& rows, std::span<const Question> questions,
                                  Report& report, const Take& take) {
  const auto last = static_cast<size_t>(model_.shape().layers - 1);
  Source source(topology_, rows, {UINT32_MAX},
                assembly_for(model_.shape().kind, recipe::Norm::full), options_.workers, device_,
                ledger_);
  for (size_t i = 0; i < questions.size(); ++i) {
    const batch::Pass pass = {
        .seeds = questions[i].seeds, .labels = questions[i].labels, .batch_size = kFullBatch};
    for_each_batch(source, pass, device_, ledger_, report,
                   [&](const batch::Batch& batch, const nn::BatchTensors& tensors) {
                     nn::Outputs outputs{.logits = model_.layer(last, layer_input(tensors))};
                     if (last > 0) outputs.embeddings = own_rows(rows, batch);
                     take({i, batch.first_seed, std::move(outputs), tensors.labels});
                   });
  }
}

std::vector<std::optional<double>> accuracies(Inference& inference,
                                              std::span<const batch::Split* const> splits,
                                              Report& report) {
  std::vector<Question> questions;
  std::vector<at::Tensor> correct(splits.size());
  for (const batch::Split* split : splits) {
    questions.push_back({batch::Seeds::in_order(split->nodes.span()), split->labels.span()});
  }
  inference.answer(questions, report, [&](const Answer& answer) {
    const at::Tensor count = nn::count_correct(answer.outputs.logits, answer.labels);
    at::Tensor& sum = correct[answer.question];
    sum = sum.defined() ? sum.add(count) : count;
  });
  std::vector<std::optional<double>> shares(splits.size());
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i]->nodes.size() == 0) continue;
    shares[i] = correct[i].item<double>() / static_cast<double>(splits[i]->nodes.size());
  }
  return shares;
}

}  // namespace plimsoll::train
