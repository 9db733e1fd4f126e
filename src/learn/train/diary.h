// diary.json in the save folder, for those who look at a training while it runs: how far it is, its
// curves, its memory by tag over time, the command, the machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/parallel.h"
#include "memory/ledger.h"
#include "memory/timeline.h"
#include "train/job.h"
#include "train/results.h"

namespace plimsoll::train {

// The epochs of a curve, at most `most` of them: of more, every second one, and so on. The newest
// always stays.
class ThinnedEpochs {
 public:
  explicit ThinnedEpochs(size_t most) : most_(most) {}
  void add(const EpochResult& result);
  const std::vector<EpochResult>& epochs() const { return epochs_; }

 private:
  size_t most_;
  uint64_t every_ = 1;  // epochs between two that stay
  std::vector<EpochResult> epochs_;
};

// Its size does not grow without bound: at most kMostEpochs epochs (of more, every second one, and
// so on) and kMostSamples samples of memory, together below 300 KiB. Written twice a second by a
// thread of its own, without waiting for the disk. If it cannot be written, the training goes on.
class Diary {
 public:
  static constexpr size_t kMostEpochs = 1024;
  static constexpr size_t kMostSamples = 256;

  // The job must outlive it. `device`: as results name it.
  Diary(const TrainJob& job, const std::string& device);
  Diary(const Diary&) = delete;
  Diary& operator=(const Diary&) = delete;
  ~Diary() = default;

  // The epochs that an earlier process trained. A resumed training writes nothing before this call:
  // if there is nothing left to train, the file stays as it is.
  void resume(const std::vector<EpochResult>& series, uint64_t best_epoch);
  // What a GPU that makes the batches holds: it takes all of it before the first one.
  void gpu_memory(const GpuMemoryUse& memory);
  // After a batch of the current epoch (from 1). Cheap enough for every batch.
  void batch(uint64_t epoch, uint64_t done, uint64_t total, double loss);
  void epoch(const EpochResult& result, uint64_t best_epoch);
  // Takes a last sample and writes it for the last time.
  void end(Status status);

 private:
  using Clock = std::chrono::steady_clock;
  void sample();
  void tick();
  nlohmann::ordered_json to_json() const;  // with mutex_ held
  void write();

  const TrainJob& job_;
  const std::filesystem::path file_;
  nlohmann::ordered_json opening_;  // what does not change
  const Clock::time_point start_ = Clock::now();

  mutable std::mutex mutex_;  // guards what follows
  nlohmann::ordered_json gpu_;
  bool writes_;  // false until a resumed training has work to do
  Status status_ = Status::running;
  uint64_t epoch_ = 0;
  uint64_t batch_ = 0;
  uint64_t batches_ = 0;
  double loss_ = 0;
  uint64_t best_epoch_ = 0;
  ThinnedEpochs series_{kMostEpochs};
  memory::TagSeries memory_{kMostSamples};

  uint64_t ticks_ = 0;  // of the ticker's thread alone

  std::mutex writing_;  // one writer at a time
  Ticker ticker_;       // last: it uses all of the above
};

}  // namespace plimsoll::train
