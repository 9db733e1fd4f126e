// results.json: what a training came to, under the keys that users' scripts read and some of ours.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/pipeline.h"
#include "graph/store.h"
#include "memory/timeline.h"
#include "plan/plan.h"
#include "recipe/recipe.h"

namespace plimsoll::train {

enum class Status { finished, stopped, early_stopped };
std::string_view name(Status status);

struct EpochResult {
  uint64_t epoch = 0;  // from 1
  double loss = 0;
  std::optional<double> valid_accuracy;  // none in epochs without evaluation
  std::optional<double> test_accuracy;
  double seconds = 0;
  double lr = 0;
};

// A batch's milliseconds by stage: the first two of any thread that makes batches, the others of
// the training thread.
struct StageMilliseconds {
  double sample = 0;
  double gather = 0;
  double forward = 0;
  double backward = 0;
  double step = 0;
  double waiting = 0;
};

struct Results {
  std::string dataset;
  recipe::Recipe recipe;
  uint64_t parameters = 0;
  uint64_t best_epoch = 0;               // the one of best.pth; 0 before the first evaluation
  std::optional<double> train_accuracy;  // of the best epoch, as the other two
  std::optional<double> valid_accuracy;
  std::optional<double> test_accuracy;
  double training_seconds = 0;
  std::string timestamp;  // as timestamp() gives it
  Status status = Status::finished;
  std::vector<EpochResult> series;
  uint64_t peak_memory_bytes = 0;     // by the kernel
  uint64_t planned_memory_bytes = 0;  // by the plan, before the start
  uint64_t unattributed_bytes = 0;    // of the kernel's figure at the end, in no lease
  batch::ReadCounts reads;            // of all epochs with their evaluations
  double planned_epoch_seconds = 0;   // of its batches alone; 0 = not known
  plan::Arrangement arrangement;      // that it ran in
  std::string store_checksum;
  std::string device;
  double batches_per_second = 0;
  StageMilliseconds stages;
};

// What is not a number becomes null.
nlohmann::ordered_json to_json(const Results& results);

// Replaces save_dir/results.json, whole or not at all.
void write_results(const std::filesystem::path& save_dir, const Results& results);

// Whether save_dir has the results of a training that ended after so many epochs, the best one
// being `best_epoch`.
bool has_results(const std::filesystem::path& save_dir, uint64_t epochs, uint64_t best_epoch);

// Memory over the time of a run as CSV: seconds, bytes lent, bytes resident, the plan's peak and
// the limit. Whole or not at all.
void write_memory_log(const std::filesystem::path& file,
                      std::span<const memory::MemorySample> samples, const plan::Plan& plan);

// One checksum for all of a store: XXH3-64 over its files' checksums in the order of their names.
std::string store_checksum(const graph::Store& store);

// What the store calls its source, else the folder's name without .plim.
std::string dataset_name(const graph::Store& store);

// "2024-05-17T09:30:00+02:00", local time.
std::string timestamp(std::chrono::system_clock::time_point when);

}  // namespace plimsoll::train
