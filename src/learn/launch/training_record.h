// A training as its folder describes it: results.json and diary.json, read without torch. For
// commands that show trainings and do not run them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.h"
#include "recipe/training_status.h"

namespace plimsoll::launch {

struct EpochRecord {
  uint64_t epoch = 0;  // from 1
  std::optional<double> loss;
  std::optional<double> valid_accuracy;  // empty in epochs without evaluation
  std::optional<double> test_accuracy;
  std::optional<double> seconds;
  std::optional<double> lr;
};

// Milliseconds per batch: drawing and gathering by all workers together, the others in the training
// thread. A GPU that makes the batches has only the last one.
struct StageRecord {
  std::optional<double> sample, gather, forward, backward, step;
  double waiting = 0;
};

struct DiskRecord {
  std::string method;  // empty if nothing was read
  uint64_t reads = 0;
  uint64_t bytes = 0;
  std::optional<uint64_t> rows;   // that batches needed; empty: not known
  uint64_t rows_on_disk = 0;      // of these, read from disk
  std::optional<double> seconds;  // waited for reads, summed over threads
};

struct RankRecord {
  uint64_t rank = 0;
  std::string host;
  std::string device;
  uint64_t peak_memory_bytes = 0;
};

struct TrainingRecord {
  std::filesystem::path folder;
  std::string dataset;
  recipe::TrainingStatus status = recipe::TrainingStatus::unknown;
  std::string device;
  std::string timestamp;
  recipe::Recipe recipe;
  uint64_t parameters = 0;
  uint64_t best_epoch = 0;
  std::optional<double> train_accuracy;  // of the best epoch, like the next two
  std::optional<double> valid_accuracy;
  std::optional<double> test_accuracy;
  std::optional<double> seconds;
  uint64_t peak_memory_bytes = 0;
  std::vector<EpochRecord> series;
  // What older versions did not write is empty or 0.
  uint64_t planned_memory_bytes = 0;
  std::optional<double> planned_epoch_seconds;  // without evaluation
  std::optional<double> batches_per_second;
  uint64_t batches_run = 0;
  uint64_t workers = 0;
  std::optional<StageRecord> stages;
  DiskRecord disk;
  std::string store_checksum;
  std::vector<RankRecord> ranks = {};
};

// A GPU that makes the batches, and its memory.
struct GpuRecord {
  std::string name;
  uint64_t limit_bytes = 0;
  uint64_t planned_bytes = 0;
  uint64_t peak_bytes = 0;
  struct Part {
    std::string name;
    uint64_t planned_bytes = 0;
    std::optional<uint64_t> taken_bytes;  // empty: torch or the driver takes it
  };
  std::vector<Part> parts;
};

// What a training wrote about itself while it ran: diary.json. A running one writes it twice a
// second.
struct DiaryMemory {
  std::vector<std::string> tags;  // of leases
  struct Sample {
    double seconds = 0;  // since this process started
    uint64_t resident_bytes = 0;
    std::vector<uint64_t> tag_bytes;  // one for each of `tags`
  };
  std::vector<Sample> samples;
};

struct TrainingDiary {
  recipe::TrainingStatus status = recipe::TrainingStatus::unknown;
  double started = 0;  // of the last process, in seconds since the epoch
  double updated = 0;
  bool resumed = false;
  std::string command;
  std::string working_folder;
  std::string host;
  std::string cpu;
  uint64_t cpus = 0;
  uint64_t ram_bytes = 0;
  std::string kernel;
  uint64_t threads = 0;
  uint64_t limit_bytes = 0;
  uint64_t store_nodes = 0;
  uint64_t store_edges = 0;
  uint64_t store_bytes = 0;
  struct Part {
    std::string name;
    uint64_t bytes = 0;
  };
  std::vector<Part> planned_parts;
  uint64_t epoch = 0;  // that it is in, from 1; 0 before the first batch
  uint64_t batch = 0;
  uint64_t batches = 0;
  std::optional<double> loss;  // of this epoch so far
  DiaryMemory memory;
  std::optional<GpuRecord> gpu;
  TrainingRecord so_far;  // as far as the diary knows it
};

// The folders of the trainings that `folder` has: itself, or seed_N in it (train --seeds), by their
// number. Empty if it is neither.
std::vector<std::filesystem::path> training_folders(const std::filesystem::path& folder);

// Whether the folder has a run that is not finished: a checkpoint, but no results.
bool has_only_checkpoint(const std::filesystem::path& folder);

// Whether a process trains into this folder now.
bool is_training_now(const std::filesystem::path& folder);

// Throws Error{io} if there is no results.json, Error{input} if it is not one of a training.
TrainingRecord read_training(const std::filesystem::path& folder);
// The text of a results.json. Throws Error{input}.
TrainingRecord parse_training(std::string_view text, const std::filesystem::path& folder);

// The same for a training that may not have ended: without results, the content of its diary.
// Nothing if it has neither, or if they cannot be read.
std::optional<TrainingRecord> find_training(const std::filesystem::path& folder);

// The trainings of a folder that have results. Throws Error{io} if there is none.
std::vector<TrainingRecord> read_trainings(const std::filesystem::path& folder);

// Those that ended as planned: finished, or stopped by their --patience. The figures of others come
// from fewer epochs.
std::vector<TrainingRecord> ended_of(const std::vector<TrainingRecord>& trainings);

struct RecipeDifference {
  std::string field;
  std::string a;
  std::string b;
};
// How two trainings differ in their data and in their recipes, the seed left out. If nothing
// differs, they are repeats of one training.
std::vector<RecipeDifference> differences_between(const TrainingRecord& a, const TrainingRecord& b);
// "model gcn instead of sage, epochs 2 instead of 1"
std::string describe(const std::vector<RecipeDifference>& differences);

// The trainings by what they repeat, in the order of their first seeds. More than one group if
// a folder mixes recipes or data.
std::vector<std::vector<TrainingRecord>> by_recipe(const std::vector<TrainingRecord>& trainings);

// One of the figures of trainings that can be compared.
struct TrainingFigure {
  std::string name;  // "test accuracy"
  std::vector<double> values;
};
std::vector<TrainingFigure> figures_of(const std::vector<TrainingRecord>& trainings);

// Nothing if there is no diary or it cannot be read: a diary is for display only, not for resuming.
std::optional<TrainingDiary> read_diary(const std::filesystem::path& folder);
// The text of a diary.json. Throws Error{input}.
TrainingDiary parse_diary(std::string_view text, const std::filesystem::path& folder);

// The folder of one of several seeds.
std::filesystem::path seed_folder(const std::filesystem::path& folder, uint64_t seed);

}  // namespace plimsoll::launch
