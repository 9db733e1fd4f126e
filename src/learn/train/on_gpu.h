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

#include "batch/seeds.h"
#include "gpu/accelerator.h"
#include "gpu/cold_rows.h"
#include "gpu/network.h"
#include "gpu/rates.h"
#include "gpu/resident_store.h"
#include "memory/ledger.h"
#include "nn/model.h"
#include "plan/plan.h"
#include "train/job.h"

namespace plimsoll::train {

gpu::GpuRates measure_gpu(c10::Device device, memory::Ledger& ledger);

// For one thread.
class OnGpu {
 public:
  // All references must outlive it.
  struct Work {
    const graph::Store& store;
    const recipe::Recipe& recipe;
    const plan::Plan& plan;
    const Execution& run;
    memory::Ledger& ledger;
    c10::Device device;  // torch's name for the GPU
  };
  // Loads the store. Throws Error{memory} if other programs have taken the GPU's memory since it
  // was planned.
  explicit OnGpu(const Work& work);

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
  struct Part {
    uint64_t first = 0;  // of its nodes
    nn::Outputs outputs;
    at::Tensor labels;
  };
  struct Evaluation {
    const batch::Seeds& seeds;
    std::span<const int32_t> labels;  // by place; may be empty
    uint64_t draws_key = 0;
    bool embeddings = false;
  };
  void evaluate(const Evaluation& evaluation, const std::function<void(const Part&)>& take);

  // What the ledger of the GPU's memory had at most; 0 if it cannot be known.
  uint64_t peak_bytes() const;

 private:
  const Work work_;
  std::unique_ptr<gpu::Accelerator> device_;
  gpu::ResidentStore store_;
  std::optional<gpu::ColdRows> cold_;  // if a part of the store stays on disk
  memory::Lease model_lease_;
  nn::Model* model_ = nullptr;
  nn::Adam* adam_ = nullptr;
  uint64_t batch_ = 0;  // the next of the epoch
  std::optional<gpu::Network> network_;
};

}  // namespace plimsoll::train
