// Training on a GPU that makes the batches itself: the store where the GPU reaches it, and the
// model's network over torch's parameters. Checkpoints and evaluations with all neighbours use the
// same parameters through torch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "batch/pipeline.h"
#include "batch/seeds.h"
#include "gpu/accelerator.h"
#include "gpu/cold_rows.h"
#include "gpu/network.h"
#include "gpu/resident_store.h"
#include "memory/ledger.h"
#include "nn/model.h"
#include "plan/plan.h"
#include "train/job.h"
#include "train/results.h"

namespace plimsoll::train {

// For one thread.
class GpuTraining {
 public:
  // All references must outlive it.
  struct Job {
    const graph::Store& store;
    const recipe::Recipe& recipe;
    const plan::Plan& plan;
    const Execution& run;
    memory::Ledger& ledger;
    c10::Device device;  // torch's name for the GPU
  };
  // Loads the store. Throws Error{memory} if other programs have taken the GPU's memory since it
  // was planned.
  explicit GpuTraining(const Job& job);

  // Takes the memory of the batches. The parameters must stay where they are. Without an optimizer,
  // the model is only evaluated.
  void prepare(nn::Model& model, nn::Adam* adam);

  struct Epoch {
    const batch::Split& split;
    uint64_t shuffle_key = 0;
    uint64_t draws_key = 0;
    uint64_t dropout_key = 0;
    uint64_t first_batch = 0;
    double lr = 0;
  };
  void begin(const Epoch& epoch);
  void train();
  // Of batches of the epoch, each the sum over its seeds. Waits for them.
  void losses(uint64_t first, std::span<float> out) { network_->losses(first, out); }

  // Computes some nodes with the model, without training: calls `take` for each part of them. The
  // tensors are valid until it returns.
  struct EvaluatedPart {
    uint64_t first = 0;  // of its nodes
    nn::Outputs outputs;
    at::Tensor labels;
  };
  struct EvaluationOrder {
    const batch::Seeds& seeds;
    std::span<const int32_t> labels;  // by place; may be empty
    uint64_t draws_key = 0;
    bool embeddings = false;
  };
  void evaluate(const EvaluationOrder& order,
                const std::function<void(const EvaluatedPart&)>& take);

  // What was read from disk, in windows, so far. How many rows the batches needed is not known.
  batch::ReadCounts reads() const;

  // What it waited for rows from disk so far.
  double waited_seconds() const { return cold_ ? cold_->waited_seconds() : 0; }

  GpuMemoryUse memory() const;

 private:
  const Job job_;
  std::unique_ptr<gpu::Accelerator> device_;
  gpu::ResidentStore store_;
  std::optional<gpu::ColdRows> cold_;  // if a part of the store stays on disk
  nn::Model* model_ = nullptr;
  nn::Adam* adam_ = nullptr;
  uint64_t batch_ = 0;  // the next of the epoch
  std::optional<gpu::Network> network_;
};

}  // namespace plimsoll::train
