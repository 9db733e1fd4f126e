// A model over a small graph: batches for it, gradients of them, and what it says of nodes.
#pragma once

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "nn/model.h"
#include "nn/operations.h"
#include "nn/small_model.h"
#include "train/inference.h"
#include "train/small_graph.h"

namespace plimsoll::train {

using nn::shape_of;
using recipe::Evaluation;
using recipe::ModelKind;

inline const c10::Device kCpu(c10::DeviceType::CPU);
constexpr uint32_t kAll = recipe::kAllNeighbors;

// Every seventh node from the last one down, labelled by its number.
struct Asked {
  explicit Asked(uint32_t all) {
    for (uint32_t node = all - 1; node < all; node -= 7) nodes.push_back(node);
    for (const uint32_t node : nodes) labels.push_back(static_cast<int32_t>(node % 5));
  }
  std::vector<uint32_t> nodes;
  std::vector<int32_t> labels;
};

inline Place place_of(SmallGraph& graph) {
  return {graph.topology(), {.workers = 2}, kCpu, graph.ledger()};
}

inline BatchFeed make_source(SmallGraph& graph, ModelKind kind, std::vector<uint32_t> fanout) {
  if (kind == ModelKind::mlp) fanout.clear();
  return BatchFeed(
      place_of(graph), graph.rows(),
      {.fanout = std::move(fanout), .assembly = batch::assembly_for(kind, recipe::Norm::full)});
}

struct Step {
  at::Tensor gradients;
  double loss = 0;
};

// Adds a part's gradients and loss.
inline void add_step(nn::Model& model, const batch::Batch& part, int64_t batch_seeds, Step& step) {
  const nn::BatchTensors tensors = view_tensors(part);
  const at::Tensor logits = model.forward(tensors, /*training=*/true, /*dropout_key=*/9).logits;
  const nn::Loss loss = nn::cross_entropy(logits, tensors.labels, 0.1, batch_seeds);
  model.gradients().zero_();
  model.backward(loss.gradient);
  const at::Tensor gradients = model.gradients().to(at::kDouble);
  step.gradients = step.gradients.defined() ? step.gradients + gradients : gradients;
  step.loss += loss.sum.item<double>();
}

// Everything that an inference says, by question.
struct Said {
  at::Tensor logits, embeddings;
  std::vector<int32_t> labels;
};

inline std::vector<Said> ask(
    Inference& inference, std::span<const NodeQuery> questions, const nn::ModelShape& shape,
    const std::function<void()>& on_answer = [] {}) {
  std::vector<Said> said;
  for (const NodeQuery& question : questions) {
    const auto rows = static_cast<int64_t>(question.seeds.size());
    said.push_back({at::full({rows, shape.classes}, NAN), at::full({rows, shape.hidden}, NAN)});
  }
  TrainReport report(/*bars=*/false);
  inference.answer(questions, report, [&](const Answer& answer) {
    on_answer();
    Said& to = said.at(answer.query);
    const auto place = [&](const at::Tensor& all, const at::Tensor& rows) {
      all.narrow(0, static_cast<int64_t>(answer.first), rows.size(0)).copy_(rows);
    };
    place(to.logits, answer.outputs.logits);
    if (answer.outputs.embeddings.defined()) place(to.embeddings, answer.outputs.embeddings);
    for (int64_t i = 0; answer.labels.defined() && i < answer.labels.size(0); ++i)
      to.labels.push_back(answer.labels[i].item<int32_t>());
  });
  return said;
}

}  // namespace plimsoll::train
