// The interface between commands and the training library, the only part that uses torch. This
// header does not need torch, so that the program can plan and report errors before it loads the
// library, which takes a third of a second.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "formats/npy_rows.h"
#include "graph/store.h"
#include "memory/ledger.h"
#include "plan/machine.h"
#include "plan/plan.h"
#include "ranks/group.h"
#include "recipe/recipe.h"
#include "track/step_log.h"

namespace plimsoll::train {

enum class DeviceKind { automatic, cpu, cuda };
enum class Output { classes, logits, embeddings };
enum class PredictedNodes { train, valid, test, all };

// As on the command line.
constexpr std::string_view name(DeviceKind kind) {
  if (kind == DeviceKind::automatic) return "auto";
  return kind == DeviceKind::cpu ? "cpu" : "cuda";
}
constexpr std::string_view name(PredictedNodes split) {
  if (split == PredictedNodes::train) return "train";
  if (split == PredictedNodes::valid) return "valid";
  return split == PredictedNodes::test ? "test" : "all";
}

// The usual memory of the process itself: libtorch, its threads, the heap and, with a GPU, the
// driver. It is leased as a whole under this tag. If libtorch was measured to take more, the plan
// uses more.
constexpr const char* kRuntimeTag = "runtime";
constexpr uint64_t kRuntimeBytes = uint64_t{168} << 20;
// The libraries are larger, even unused.
constexpr uint64_t kCudaRuntimeBytes = uint64_t{384} << 20;
constexpr uint64_t kGpuRuntimeBytes = uint64_t{1400} << 20;  // including memory that torch pins
// Small tensors and thread stacks, in addition to what is resident after libtorch is loaded.
constexpr uint64_t kHeapBytes = uint64_t{16} << 20;

// How a run executes its recipe. Does not change what is learned.
struct Execution {
  DeviceKind device = DeviceKind::automatic;
  unsigned workers = 0;  // threads that make batches; 0 = the plan chooses
  unsigned window = 0;   // batches in a window (batch/window.h); 0 = the plan chooses
  unsigned threads = 1;  // in total
  std::optional<uint64_t> gpu_memory_bytes;  // the most to take of a GPU
  bool tf32 = false;                         // a GPU multiplies matrices in reduced precision
  bool quiet = false;                        // print a line per epoch and nothing else
  bool verbose = false;  // also print what happens inside: stages, reads, parts of the memory
};

struct TrainJob {
  const graph::Store& store;
  recipe::Recipe recipe;
  Execution run;
  std::filesystem::path save_dir;
  bool resume = false;      // from save_dir/last.pth; `recipe` is then the result of recipe::resume
  uint64_t save_every = 0;  // epochs between two epoch_NNN.pth files; 0 = none
  double checkpoint_minutes = 30;  // the most work that a kill -9 can lose
  plan::Plan plan;
  std::filesystem::path memory_log;  // .csv of memory over time; empty = not written
  track::LogKinds logs;              // in save_dir; a resumed run also continues those that it has
  memory::Ledger& ledger;
  ranks::Group* group = nullptr;  // made by Module::join; null: this process trains alone
};

struct OutputColumns {
  uint64_t classes = 0;
  uint64_t hidden = 0;
};
// The layout of a prediction's output file.
inline formats::NpyRows::Options output_options(Output output, const std::filesystem::path& path,
                                                uint64_t rows, const OutputColumns& columns) {
  if (output == Output::classes) return {path, formats::NpyType::int64, rows, 0};
  return {path, formats::NpyType::float32, rows,
          output == Output::logits ? columns.classes : columns.hidden};
}

struct PredictJob {
  const graph::Store& store;
  std::filesystem::path checkpoint;
  PredictedNodes split = PredictedNodes::test;
  Output output = Output::classes;
  recipe::Evaluation evaluation = recipe::Evaluation::sampled;
  std::filesystem::path out;      // .npy; rows by ascending original id
  std::filesystem::path ids_out;  // .npy with these ids; empty = not written
  Execution run;
  plan::Plan plan;
  memory::Ledger& ledger;
  ranks::Group* group = nullptr;  // made by Module::join; null: this process predicts alone
};

// What the library exports under the name kEntryPoint. The pointers are never null.
struct Module {
  // Returns the signal that stopped the run, or 0 if it ended by itself.
  int (*train)(const TrainJob& job);
  void (*predict)(const PredictJob& job);
  // Meets the other ranks of a run.
  std::unique_ptr<ranks::Group> (*join)(const ranks::RankPlace& place,
                                        const ranks::GroupOptions& options);
  // The recipe that a checkpoint was trained with. `limit_bytes` is for the whole process.
  recipe::Recipe (*read_recipe)(const std::filesystem::path& checkpoint, uint64_t limit_bytes);
  // Whether torch can compute on a GPU here.
  bool (*has_gpu)();
  // Why the first GPU cannot make the batches of this recipe, though torch can compute on it; empty
  // if it can. Compiles its code for the recipe.
  std::string (*gpu_problem)(const recipe::Recipe& recipe);
  // Measures the cost of training steps, on the GPU or on `threads` threads of the CPU. Also
  // measures the memory of the library; `resident_before` is what was resident before it was
  // loaded.
  plan::StepRates (*measure_steps)(bool gpu, unsigned threads, uint64_t resident_before,
                                   memory::Ledger& ledger);
};
constexpr const char* kEntryPoint = "plimsoll_train_module";
using EntryPoint = const Module* (*)();

}  // namespace plimsoll::train
