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
#include "train/shortage.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kFullBatch = 2048;  // nodes of one batch with all neighbours
constexpr uint64_t kNodesAtOnce = 8192;
constexpr uint64_t kPlacesAtOnce = 1 << 18;
constexpr uint64_t kEvaluationKey = 0x6576616c;  // keeps these draws apart from training's

nn::LayerInput layer_input(const nn::BatchTensors& tensors) {
  return {.x = tensors.input,
          .own = tensors.own,
          .block = tensors.blocks.empty() ? nullptr : &tensors.blocks.front()};
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
    } catch (...) {
      if (!is_shortage(std::current_exception())) throw;
      run_in_halves(half.batch(), device, ledger, body);
    }
  }
}

// Adds the nodes' in-neighbours to the set.
void add_neighbors(sample::ListReader& lists, std::span<const uint32_t> nodes,
                   feature::NodeSet& set, memory::Ledger& ledger) {
  memory::Growing<sample::ListBounds> bounds(ledger, "node sets");
  memory::Growing<uint64_t> places(ledger, "node sets");
  memory::Growing<uint32_t> found(ledger, "node sets");
  bounds.renew(nodes.size());
  lists.bounds(nodes, bounds.data());
  uint64_t count = 0;
  const auto flush = [&] {
    found.renew(count);
    lists.neighbors({places.data(), count}, found.data());
    for (uint64_t i = 0; i < count; ++i) set.add(found[i]);
    count = 0;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (uint64_t done = 0; done < bounds[i].degree; ++done) {
      places.reserve(kPlacesAtOnce, 0);
      places[count++] = bounds[i].begin + done;
      if (count == kPlacesAtOnce) flush();
    }
  }
  if (count > 0) flush();
}

// Whose values the layers before the last must have, first layer first.
std::vector<feature::NodeSet> needed_nodes(std::span<const Question> questions, size_t layers,
                                           const Place& place) {
  std::vector<feature::NodeSet> sets;
  if (layers == 0) return sets;
  for (size_t i = 0; i < layers; ++i) sets.emplace_back(place.ledger, place.topology.nodes());
  sample::ListReader lists(place.topology, place.ledger, {});
  memory::Buffer<uint32_t> nodes(place.ledger, "node sets", kNodesAtOnce);
  // Adds `seeds` and their neighbours to a set.
  const auto add = [&](const batch::Seeds& seeds, feature::NodeSet& set) {
    for (uint64_t first = 0; first < seeds.size(); first += kNodesAtOnce) {
      const uint64_t count = std::min(kNodesAtOnce, seeds.size() - first);
      for (uint64_t i = 0; i < count; ++i) {
        nodes[i] = seeds.node(seeds.place(first + i));
        set.add(nodes[i]);
      }
      add_neighbors(lists, nodes.first(count), set, place.ledger);
      throw_if_interrupted();
    }
  };
  for (size_t i = layers; i-- > 0;) {
    if (i + 1 == layers) {
      for (const Question& question : questions) add(question.seeds, sets[i]);
    } else {
      add(batch::Seeds::members(sets[i + 1]), sets[i]);
    }
    sets[i].count();
  }
  return sets;
}

}  // namespace

Hops hops_of(const recipe::Recipe& recipe, graph::FirstLayer first_layer) {
  return {batch::drawn_fanout(recipe, first_layer), recipe.sampler};
}

Source::Source(const Place& place, const feature::RowSource& rows, const Hops& hops,
               const batch::Assembly& assembly)
    : pages(pinned_pages(place.device)),
      pipeline(place.topology, rows,
               {.fanout = hops.fanout,
                .draw = hops.draw,
                .assembly = assembly,
                .workers = place.arrangement.workers,
                .slots = place.arrangement.slots(),
                .window = place.arrangement.window,
                .pages = pages.get(),
                .on_stall = place.on_stall},
               place.ledger),
      feeder(pipeline, place.device) {}

// Runs one pass and hands over every batch, with its tensors on the device.
void Inference::for_each_batch(Source& source, const batch::Pass& pass, Report& report,
                               const Body& body) {
  report.begin_pass("Evaluating", pass.seeds.batches(pass.batch_size), 0);
  source.feeder.start(pass);
  for (FedBatch* fed = &source.feeder.next(); fed->batch != nullptr; fed = &source.feeder.next()) {
    bool fits = fed->tensors.has_value();
    try {
      if (fits) body(*fed->batch, *fed->tensors);
    } catch (...) {
      if (!is_shortage(std::current_exception())) throw;
      fed->tensors.reset();
      fits = false;
    }
    if (!fits) {
      source.pipeline.drop_ready();
      run_in_halves(*fed->batch, place_.device, place_.ledger, body);
    }
    if (fed->batch->last_part()) report.advance(fed->batch->index + 1);
    source.feeder.done();
    throw_if_interrupted();
  }
  report.end_pass();
}

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
        sampled_, pass, report, [&](const batch::Batch& batch, const nn::BatchTensors& tensors) {
          take({i, batch.first_seed, model_.forward(tensors, /*training=*/false), tensors.labels});
        });
  }
}

// Layer by layer, so that no node's value is computed twice: each layer for the nodes that the next
// one needs, the last for those asked for. Each has a pipeline of its own, and the memory of the
// one that is not needed now.
void Inference::answer_full(std::span<const Question> questions, Report& report, const Take& take) {
  sampled_.feeder.drop();
  sampled_.pipeline.release();  // it comes back with the next pass
  const auto layers = static_cast<size_t>(model_.shape().layers);
  std::vector<feature::NodeSet> needed = needed_nodes(questions, layers - 1, place_);
  const feature::RowSource* rows = &features_;
  std::unique_ptr<HiddenRows> hidden;
  for (size_t layer = 0; layer + 1 < layers; ++layer) {
    auto out =
        std::make_unique<HiddenRows>(needed[layer], static_cast<uint32_t>(model_.shape().hidden),
                                     options_.scratch, place_.ledger);
    compute_layer(layer, *rows, needed[layer], *out, report);
    hidden = std::move(out);
    rows = &hidden->finish(place_.arrangement, place_.arrangement.computing);
  }
  answer_last_layer(*rows, questions, report, take);
}

void Inference::compute_layer(size_t layer, const feature::RowSource& rows,
                              const feature::NodeSet& nodes, HiddenRows& out, Report& report) {
  const bool summed = layer == 0 && options_.first_layer != graph::FirstLayer::none;
  batch::Assembly assembly = batch::assembly_for(model_.shape().kind, recipe::Norm::full);
  assembly.precomputed = summed;
  Source source(place_, rows, {.fanout = {summed ? 0 : recipe::kAllNeighbors}}, assembly);
  const batch::Pass pass = {.seeds = batch::Seeds::members(nodes), .batch_size = kFullBatch};
  for_each_batch(source, pass, report,
                 [&](const batch::Batch& /*batch*/, const nn::BatchTensors& tensors) {
                   const at::Tensor values =
                       model_.layer(layer, layer_input(tensors)).to(at::kCPU).contiguous();
                   out.append(values.data_ptr<float>(), static_cast<uint64_t>(values.size(0)));
                 });
}

void Inference::answer_last_layer(const feature::RowSource& rows,
                                  std::span<const Question> questions, Report& report,
                                  const Take& take) {
  const auto last = static_cast<size_t>(model_.shape().layers - 1);
  batch::Assembly assembly = batch::assembly_for(model_.shape().kind, recipe::Norm::full);
  assembly.precomputed = last == 0 && options_.first_layer != graph::FirstLayer::none;
  if (options_.embeddings && assembly.input == batch::Input::aggregated) {
    assembly.input = batch::Input::aggregated_and_own;
  }
  Source source(place_, rows, {.fanout = {assembly.precomputed ? 0 : recipe::kAllNeighbors}},
                assembly);
  for (size_t i = 0; i < questions.size(); ++i) {
    const batch::Pass pass = {
        .seeds = questions[i].seeds, .labels = questions[i].labels, .batch_size = kFullBatch};
    for_each_batch(source, pass, report,
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
