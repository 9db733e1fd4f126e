// Runs a trained model on lists of nodes: with the fan-out of training, or with all neighbours,
// layer by layer.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "batch/assemble.h"
#include "batch/layerwise.h"
#include "batch/pipeline.h"
#include "batch/seeds.h"
#include "feature/rows.h"
#include "nn/model.h"
#include "recipe/recipe.h"
#include "train/batch_feed.h"
#include "train/epoch_lines.h"
#include "train/job.h"
#include "train/rank_group.h"

namespace plimsoll::train {

class GpuTraining;

// The nodes to compute. If there are labels, they are passed to the callback.
struct NodeQuery {
  batch::Seeds seeds;
  std::span<const int32_t> labels;
};

// The results for some nodes of a query, beginning with its node number `first`.
struct Answer {
  size_t query = 0;
  uint64_t first = 0;
  nn::Outputs outputs;
  at::Tensor labels;
};

struct InferenceOptions {
  recipe::Evaluation evaluation = recipe::Evaluation::sampled;
  uint64_t batch_size = 1024;
  uint64_t seed = 0;
  graph::FirstLayer first_layer = graph::FirstLayer::none;  // what the store's rows hold
  bool embeddings = false;                                  // also return embeddings
  std::filesystem::path scratch;  // a folder for data that does not fit into memory
  uint64_t full_batch_bytes = 0;  // memory for one node with all its neighbours
  // Called between batches; may throw.
  std::function<void()> check = [] {};
  RankGroup* group = nullptr;  // that cuts the nodes; null: this process computes all of them
};

// All references must outlive it. `sampled` is the caller's pipeline with the model's fan-outs, so
// that a sampled evaluation needs no second one.
class Inference {
 public:
  Inference(nn::Model& model, Place place, const feature::RowSource& features, BatchFeed& sampled,
            InferenceOptions options)
      : model_(model),
        place_(std::move(place)),
        features_(features),
        sampled_(sampled),
        options_(std::move(options)) {}

  const nn::ModelShape& shape() const { return model_.shape(); }
  RankGroup* group() const { return options_.group; }
  uint64_t batch_size() const { return options_.batch_size; }
  // Sampled evaluations are then made and computed on the GPU. It must outlive this.
  void use(GpuTraining& gpu) { gpu_ = &gpu; }
  // The part of every batch that this rank computes.
  batch::BatchCut cut() const;
  // Whether all neighbours are used, layer by layer. Ranks then cut the lists of nodes, not their
  // batches: each computes the values that its nodes need.
  bool is_full() const;

  using Take = std::function<void(const Answer&)>;
  void answer(std::span<const NodeQuery> queries, TrainReport& report, const Take& take);
  // The pass of `sampled` for a query, if not all neighbours are used.
  batch::Pass sampled_pass(const NodeQuery& query) const;

 private:
  void answer_sampled(std::span<const NodeQuery> queries, TrainReport& report, const Take& take);
  void answer_on_gpu(std::span<const NodeQuery> queries, TrainReport& report, const Take& take);
  void answer_full(std::span<const NodeQuery> queries, TrainReport& report, const Take& take);
  void compute_layer(size_t layer, const feature::RowSource& rows, const memory::IndexSet& nodes,
                     batch::HiddenRows& out, TrainReport& report);
  void answer_last_layer(const feature::RowSource& rows, std::span<const NodeQuery> queries,
                         TrainReport& report, const Take& take);
  void for_each_batch(
      BatchFeed& feed, const batch::Pass& pass, TrainReport& report,
      const std::function<void(const batch::Batch&, const nn::BatchTensors&)>& body);

  nn::Model& model_;
  const Place place_;
  const feature::RowSource& features_;
  BatchFeed& sampled_;
  const InferenceOptions options_;
  GpuTraining* gpu_ = nullptr;
};

// The accuracy on each split; empty for a split without nodes. With several ranks, each computes
// its part, and all get the same result; if one of them is asked to stop, all throw Interrupted.
std::vector<std::optional<double>> accuracies(Inference& inference,
                                              std::span<const batch::Split* const> splits,
                                              TrainReport& report);

// The passes that accuracies() makes if not all neighbours are used.
std::vector<batch::Pass> evaluation_passes(const Inference& inference,
                                           std::span<const batch::Split* const> splits);

// `plimsoll predict`: computes the nodes of a split with a trained model and writes the results as
// a NumPy file. (predict.cc)
void predict(const PredictJob& job);

}  // namespace plimsoll::train
