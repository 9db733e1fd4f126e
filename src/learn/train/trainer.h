// The training loop: epochs of batches, evaluations between them, checkpoints, and an orderly end
// after a signal.
#pragma once

#include <c10/core/Device.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/print.h"
#include "io/partial_file.h"
#include "memory/timeline.h"
#include "nn/model.h"
#include "nn/operations.h"
#include "train/batch_feed.h"
#include "train/checkpoint.h"
#include "train/data.h"
#include "train/diary.h"
#include "train/epoch_lines.h"
#include "train/gpu_training.h"
#include "train/inference.h"
#include "train/job.h"
#include "train/rank_group.h"
#include "train/room_keeper.h"
#include "train/training_logs.h"

namespace plimsoll::train {

// Seconds in the training thread.
struct ComputeTimes {
  double forward = 0;
  double backward = 0;
  double step = 0;
  double adding_up = 0;  // over the ranks, including the wait for the slowest
};

class Trainer {
 public:
  // All references must outlive the Trainer.
  struct Prepared {
    const Data& data;
    c10::Device device;
    const memory::Timeline& timeline;  // started before the data was loaded
    uint64_t needed_bytes = 0;         // memory without the lines
    Diary* diary = nullptr;            // null: another rank keeps it
    GpuTraining* gpu = nullptr;        // null: the CPU makes the batches
  };
  Trainer(const TrainJob& job, const Prepared& prepared);

  // Returns the signal that stopped it, else 0.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  void resume();
  bool finished() const;
  bool is_complete() const;
  double learning_rate() const;
  // Trains one epoch or the rest of it; false if a signal stopped it.
  bool train_epoch();
  batch::Pass training_pass(uint64_t epoch, uint64_t first_batch) const;
  // As far as they go through the pipeline.
  std::vector<batch::Pass> passes_after_this_epoch() const;
  bool train_on_pipeline(const batch::Pass& pass);
  bool train_on_gpu(uint64_t total);  // where the GPU makes the batches
  // In the bar and the diary.
  void show_batch(uint64_t total);
  void look_at_gpu_losses();
  // Adds the loss of a batch to the epoch's. Throws Error{diverged} if it is not finite.
  void count_loss(uint64_t batch, uint64_t seeds, double sum);
  // Trains one batch or a part of one; the optimizer's step follows the last part. False if there
  // was not enough memory: the batch then starts again in smaller parts.
  bool train_batch(FedBatch& fed);
  // Ends a batch: adds up the gradients of all ranks, then makes the optimizer's step. `loss` is
  // undefined if this rank has no part of the batch.
  void finish_batch(uint64_t index, uint64_t seeds, const at::Tensor& loss);
  // Replaces gradients and loss by their sums over all ranks, and finds out whether one of them was
  // asked to stop.
  at::Tensor add_up_ranks(const at::Tensor& loss);
  // The signal that asked this rank or, with several ranks, any of them to stop; else 0.
  int asked_to_stop() const;
  bool writes() const { return group_ == nullptr || group_->first(); }
  // Adds to the gradients; returns the sum of the losses, on the device.
  at::Tensor forward_backward(const nn::BatchTensors& tensors, int64_t batch_seeds);
  // `why`: what was too small.
  void begin_again(const batch::Batch& batch, const std::string& why);
  void look_at_losses();
  void finish_epoch();
  // Whether the epoch of this number, from 1, ends with an evaluation.
  bool is_evaluated(uint64_t epoch) const {
    return epoch == recipe_.epochs || epoch % recipe_.log_steps == 0;
  }
  std::array<const batch::Split*, 2> evaluated_splits() const {
    return {&data_.splits.valid, &data_.splits.test};
  }
  bool is_best(const EpochResult& result) const;
  void judge(const EpochResult& result);
  // Writes last.pth, and best.pth if there is a newer best epoch.
  void write_checkpoints();
  // Adds the time since epoch_start_ to the position.
  void count_time();
  // Saves a checkpoint and rethrows the error with its path.
  [[noreturn]] void save_and_fail(const Error& error);
  // Gives the memory of the batches to something else; the next pass takes it again.
  void release_batches();
  void write_named_checkpoint();
  bool wants_early_stop() const;
  // Writes and prints the results. Returns the signal that arrived meanwhile, else 0.
  int end(Status status);
  Results results_so_far(Status status) const;
  // The last checkpoints and the accuracy of the best epoch. Returns the signal that arrived
  // meanwhile, else 0.
  int end_training(Results& results);
  void add_memory(Results& results) const;
  std::optional<double> train_accuracy_of_best();
  void share_model();
  batch::ReadCounts all_reads() const;
  void gather_ranks(Results& results);
  double usual_epoch_seconds() const;
  // Prints for people, unless they want it quiet.
  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (!job_.run.quiet) plimsoll::print(format, std::forward<Args>(args)...);
  }
  void print_end(const Results& results) const;
  static void print_learned(const Results& results);
  static void print_speed(const Results& results);
  void print_memory(const Results& results) const;
  void print_files(const Results& results) const;
  // For --verbose.
  void print_stages(const Results& results) const;
  static void print_reads(const batch::ReadCounts& reads);
  void print_memory_parts(const Results& results) const;

  const TrainJob& job_;
  RankGroup* const group_;  // null: this process trains alone
  const recipe::Recipe& recipe_;
  const Data& data_;
  const c10::Device device_;
  TrainReport report_;
  const Place place_;
  const StoreIdentity store_;
  nn::Model model_;
  nn::Adam adam_;
  BatchFeed feed_;
  GpuTraining* const gpu_;
  uint64_t gpu_batches_ = 0;  // of this epoch whose losses are on the GPU, before position_.batch
  Inference inference_;
  const memory::Lease series_lease_;  // of all epochs, in the position
  Position position_;
  std::optional<io::PartialFile> best_;  // a newer best.pth that does not have its name yet
  struct PendingLoss {
    uint64_t batch = 0;
    uint64_t seeds = 0;
    at::Tensor sum;
  };
  at::Tensor sums_;        // gradients, loss and wishes to stop, to be added up over the ranks
  int stop_signal_ = 0;    // that any rank got, known to all since the same batch
  at::Tensor parts_loss_;  // sum over the computed parts of the current batch
  std::vector<PendingLoss> losses_;  // not read yet: reading makes the CPU wait for a GPU
  std::string last_good_;            // the newest checkpoint on disk
  Clock::time_point epoch_start_;
  Clock::time_point last_write_;  // or the start
  bool written_ = false;
  uint64_t batches_done_ = 0;
  // Of training passes, without evaluations. If there are several, the first does not count,
  // because it also starts the device and allocates buffers.
  struct Pace {
    uint64_t batches = 0;
    double seconds = 0;
    ComputeTimes computing;
    batch::StageTimes stages;
  };
  Pace pace_;
  uint64_t passes_ = 0;  // how many were started
  RoomKeeper room_keeper_;
  const memory::Timeline& timeline_;
  std::unique_ptr<track::StepLog> log_;  // null: none was asked for, or another rank writes
  Diary* const diary_;
};

}  // namespace plimsoll::train
