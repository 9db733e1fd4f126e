// Provides batches as tensors on the model's device. On a CPU the tensors are views of the
// pipeline's memory. For a GPU the pipeline assembles batches in pinned memory, and they are copied
// on a separate stream while earlier batches are computed.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <deque>
#include <optional>

#include "batch/pipeline.h"
#include "nn/model.h"
#include "plan/arrangement.h"

namespace plimsoll::train {

// The tensors are views: the batch must stay alive.
nn::BatchTensors view_tensors(const batch::Batch& batch);
nn::BatchTensors to_device(const nn::BatchTensors& tensors, c10::Device device);

// Waits until the copy has ended or the device has failed. Does not report the failure: the next
// computation on the device will.
void finish_copy(const c10::Event& copied) noexcept;

// Says why a FedBatch has no tensors.
inline constexpr const char* kNoRoomForCopy =
    "the GPU has no room for a copy of the batch; stop other programs that use it, or use --device "
    "cpu";

struct FedBatch {
  const batch::Batch* batch = nullptr;
  // Empty if the device had no memory for the copy: call Feeder::retry().
  std::optional<nn::BatchTensors> tensors;
};

// For one thread. After start(), every next() must be followed by done() or retry(), until next()
// returns a null batch.
class Feeder {
 public:
  Feeder(batch::Pipeline& pipeline, c10::Device device);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // How many batches it holds in addition to the one from next().
  static constexpr unsigned kAhead = plan::kCopiedAhead;

  void start(const batch::Pass& pass);
  // The next batch; `batch` is null after the last one.
  FedBatch& next();
  void done();
  // Instead of done(), if there was no memory to compute the batch: see Pipeline::make_again.
  bool retry(bool from_its_start);
  // Ends the pass early.
  void drop();

 private:
  struct Copying {
    FedBatch fed;
    std::optional<c10::Event> copied;  // only on a GPU
  };
  void fetch();
  void give_back_front();
  void copy(Copying& copying);

  batch::Pipeline& pipeline_;
  const c10::Device device_;
  std::optional<c10::Stream> copies_;
  std::deque<Copying> queue_;  // the caller uses the front one
  bool more_ = false;
  FedBatch nothing_;
};

}  // namespace plimsoll::train
