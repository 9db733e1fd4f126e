// results.json, the results of a training run: the keys that users' scripts read, and some of our
// own.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/pipeline.h"
#include "graph/store.h"
#include "memory/ledger.h"
#include "memory/timeline.h"
#include "plan/plan.h"
#include "recipe/recipe.h"
#include "recipe/training_status.h"

namespace plimsoll::train {

using Status = recipe::TrainingStatus;

struct EpochResult {
  uint64_t epoch = 0;  // from 1
  double loss = 0;
  std::optional<double> valid_accuracy;  // empty in epochs without evaluation
  std::optional<double> test_accuracy;
  double seconds = 0;
  double lr = 0;
};

// The average milliseconds per batch of each stage: `sample` and `gather` of the threads that make
// batches, the others of the training thread. A GPU that makes the batches does all but the waiting
// at once: its stages are empty.
struct StageMilliseconds {
  std::optional<double> sample;
  std::optional<double> gather;
  std::optional<double> forward;
  std::optional<double> backward;
  std::optional<double> step;
  double waiting = 0;
};

// The memory of a GPU that makes the batches.
struct GpuMemoryUse {
  std::string name;  // of the GPU
  uint64_t limit_bytes = 0;
  uint64_t planned_bytes = 0;
  uint64_t peak_bytes = 0;  // with the planned bytes of what torch and the driver take themselves
  struct Part {
    std::string name;
    uint64_t planned_bytes = 0;
    std::optional<uint64_t> taken_bytes;  // empty: torch or the driver takes it
  };
  std::vector<Part> parts;
};

// What one rank of several did.
struct RankFigures {
  unsigned rank = 0;
  std::string host;
  std::string device;
  double batches_per_second = 0;
  double adding_up_ms = 0;         // per batch: adding up gradients, with the wait for other ranks
  uint64_t peak_memory_bytes = 0;  // including what ranks of a host share
  uint64_t shared_bytes = 0;       // of these, the lines that all ranks of its host share
  uint64_t reads = 0;
  uint64_t read_bytes = 0;
};
std::string to_text(const RankFigures& figures);
RankFigures parse_figures(const std::string& text);

struct Results {
  std::string dataset;
  recipe::Recipe recipe;
  uint64_t parameters = 0;
  uint64_t best_epoch = 0;               // the epoch of best.pth; 0 before the first evaluation
  std::optional<double> train_accuracy;  // of the best epoch, like the next two
  std::optional<double> valid_accuracy;
  std::optional<double> test_accuracy;
  double training_seconds = 0;
  std::string timestamp;  // as timestamp() gives it
  Status status = Status::finished;
  std::vector<EpochResult> series;
  uint64_t peak_memory_bytes = 0;     // as the kernel counts it
  uint64_t planned_memory_bytes = 0;  // the plan's peak
  std::optional<GpuMemoryUse> gpu;    // empty: the CPU makes the batches
  uint64_t unattributed_bytes = 0;    // resident at the end, but in no lease
  batch::ReadCounts reads;            // of all epochs, including evaluations
  double planned_epoch_seconds = 0;   // without evaluation; 0 = unknown
  plan::Arrangement arrangement;
  std::string store_checksum;
  std::string device;
  double batches_per_second = 0;
  uint64_t batches_run = 0;  // trained by this process; a resumed run has had more
  StageMilliseconds stages;
  std::vector<RankFigures> ranks;  // empty if one process trained
};

// The text of results.json, and an upper bound of its size. Missing values, NaN and infinity become
// null.
std::string to_text(const Results& results);
uint64_t text_bytes(const Results& results);

// Replaces save_dir/results.json atomically. Leases the text.
void write_results(const std::filesystem::path& save_dir, const Results& results,
                   memory::Ledger& ledger);

// Whether save_dir has the results of a training run that ended after so many epochs, with
// `best_epoch` as the best one.
bool has_results(const std::filesystem::path& save_dir, uint64_t epochs, uint64_t best_epoch);

// Writes the memory over the time of a run as CSV, atomically: seconds, leased bytes, resident
// bytes, the plan's peak and the limit.
void write_memory_log(const std::filesystem::path& file,
                      std::span<const memory::MemorySample> samples, const plan::Plan& plan);

// "2024-05-17T09:30:00+02:00", local time.
std::string timestamp(std::chrono::system_clock::time_point when);

}  // namespace plimsoll::train
