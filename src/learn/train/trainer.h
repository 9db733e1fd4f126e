// The training loop: epochs of batches, evaluations between them, checkpoints, and the orderly end
// when somebody asks for it.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "batch/packed_rows.h"
#include "io/partial_file.h"
#include "memory/timeline.h"
#include "nn/adam.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "train/checkpoint.h"
#include "train/data.h"
#include "train/device.h"
#include "train/inference.h"
#include "train/job.h"
#include "train/report.h"
#include "train/room_keeper.h"

namespace plimsoll::train {

// Seconds of the training thread.
struct ComputeTimes {
  double forward = 0;
  double backward = 0;
  double step = 0;
};

class Trainer {
 public:
  // Everything must outlive it.
  struct Prepared {
    const Data& data;
    c10::Device device;
    const memory::Timeline& timeline;  // since before the data was loaded
    uint64_t needed_bytes = 0;         // beside the lines
  };
  Trainer(const TrainJob& job, const Prepared& prepared);

  // Returns the signal that asked it to stop, else 0.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  void resume();
  bool finished() const;
  double learning_rate() const;
  // One epoch or the rest of it; false when it was asked to stop on the way.
  bool train_epoch();
  batch::PackedRows* rows_to_reuse(uint64_t drawing, uint64_t batches);
  // One batch, or a part of one; the step comes with the last. False where there was no room to
  // compute it: it is then begun again, in smaller parts.
  bool train_batch(FedBatch& fed);
  // Adds to the gradients; returns the sum of the losses, on the device.
  at::Tensor forward_backward(const nn::BatchTensors& tensors, int64_t batch_seeds);
  void begin_again(const batch::Batch& batch);
  void look_at_losses();
  void finish_epoch();
  void judge(const EpochResult& result);
  // last.pth, and best.pth where there is a newer one.
  void write_checkpoints();
  Position position_now() const;
  // Saves what was learned, and says so with the error.
  [[noreturn]] void save_and_fail(const Error& error);
  void write_named_checkpoint();
  bool wants_early_stop() const;
  // Returns the signal that came while the last figures were computed, else 0.
  int end(Status status);
  std::optional<double> train_accuracy_of_best();
  void print_end(const Results& results) const;
  static void print_reads(const batch::ReadCounts& reads);
  void print_memory(const Results& results) const;

  const TrainJob& job_;
  const recipe::Recipe& recipe_;
  const Data& data_;
  const c10::Device device_;
  TrainReport report_;
  const Place place_;
  const StoreIdentity store_;
  nn::Model model_;
  nn::Adam adam_;
  std::optional<batch::PackedRows> packed_rows_;  // of epochs with the same draws
  BatchFeed feed_;
  Inference inference_;
  Position position_;
  std::optional<io::PartialFile> best_;  // best.pth of a newer best epoch, not yet under its name
  struct PendingLoss {
    uint64_t batch = 0;
    uint64_t seeds = 0;
    at::Tensor sum;
  };
  at::Tensor parts_loss_;            // of the parts of a batch that have been computed
  std::vector<PendingLoss> losses_;  // not looked at: a look makes the CPU wait for a GPU
  std::string last_good_;            // the newest checkpoint on disk
  Clock::time_point epoch_start_;
  Clock::time_point last_write_;  // or the start
  bool written_ = false;
  uint64_t batches_done_ = 0;
  // Of training passes, not of evaluations. The first of several also starts the device and takes
  // its buffers: it does not count.
  struct Pace {
    uint64_t batches = 0;
    double seconds = 0;
    ComputeTimes computing;
    batch::StageTimes stages;
  };
  Pace pace_;
  uint64_t passes_ = 0;  // begun
  RoomKeeper room_keeper_;
  const memory::Timeline& timeline_;
};

}  // namespace plimsoll::train
