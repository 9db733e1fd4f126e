// Running a trained model over lists of nodes, by the same fan-out as in training or with all
// neighbours, layer by layer.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "batch/pipeline.h"
#include "batch/split.h"
#include "memory/ledger.h"
#include "nn/model.h"
#include "recipe/recipe.h"
#include "sample/topology.h"
#include "train/feeder.h"
#include "train/report.h"

namespace plimsoll::train {

// How a pipeline must prepare batches for a model.
batch::Assembly assembly_for(recipe::ModelKind kind, recipe::Norm norm);

// Threads for making batches and for computing, of `threads` in all; `workers` 0 = chosen.
struct ThreadShares {
  unsigned workers = 1;
  unsigned computing = 1;
};
ThreadShares share_threads(unsigned threads, unsigned workers, bool gpu);

// A pipeline for these fan-outs whose batches fit the device, with its feeder.
struct Source {
  Source(const sample::Topology& topology, const kernel::Rows& rows, std::vector<uint32_t> fanout,
         const batch::Assembly& assembly, unsigned workers, c10::Device device,
         memory::Ledger& ledger);

  std::unique_ptr<memory::PageSource> pages;
  batch::Pipeline pipeline;
  Feeder feeder;
};

// Which nodes are asked for; labels are handed to the callback where there are some.
struct Question {
  batch::Seeds seeds;
  std::span<const int32_t> labels;
};

// Some rows of an answer: those of the question's nodes from `first` on.
struct Answer {
  size_t question = 0;
  uint64_t first = 0;
  nn::Outputs outputs;
  at::Tensor labels;
};

struct InferenceOptions {
  recipe::Evaluation evaluation = recipe::Evaluation::sampled;
  uint64_t batch_size = 1024;
  uint64_t seed = 0;
  unsigned workers = 1;
};

// Everything must outlive it. `sampled` is the pipeline of the model's own fan-outs, lent by the
// trainer: evaluating makes no second one.
class Inference {
 public:
  Inference(nn::Model& model, const sample::Topology& topology, const kernel::Rows& features,
            Source& sampled, const InferenceOptions& options, c10::Device device,
            memory::Ledger& ledger)
      : model_(model),
        topology_(topology),
        features_(features),
        sampled_(sampled),
        options_(options),
        device_(device),
        ledger_(ledger) {}

  using Take = std::function<void(const Answer&)>;
  void answer(std::span<const Question> questions, Report& report, const Take& take);

 private:
  void answer_sampled(std::span<const Question> questions, Report& report, const Take& take);
  void answer_full(std::span<const Question> questions, Report& report, const Take& take);
  memory::Buffer<float> compute_layer(size_t layer, const kernel::Rows& rows, Report& report);
  void answer_last_layer(const kernel::Rows& rows, std::span<const Question> questions,
                         Report& report, const Take& take);

  nn::Model& model_;
  const sample::Topology& topology_;
  const kernel::Rows& features_;
  Source& sampled_;
  const InferenceOptions options_;
  const c10::Device device_;
  memory::Ledger& ledger_;
};

// The share of each split's nodes that the model labels as they are labelled; none for an empty
// split.
std::vector<std::optional<double>> accuracies(Inference& inference,
                                              std::span<const batch::Split* const> splits,
                                              Report& report);

}  // namespace plimsoll::train
