// The door to training: what a command hands over, and how it reaches the library that knows torch.
// Free of torch, so that the program can plan and refuse before it loads half a second of library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "formats/npy_rows.h"
#include "graph/store.h"
#include "memory/ledger.h"
#include "plan/machine.h"
#include "plan/plan.h"
#include "recipe/recipe.h"

namespace plimsoll::train {

enum class DeviceKind { automatic, cpu, cuda };
enum class Output { classes, logits, embeddings };
enum class SplitName { train, valid, test, all };

// What the process usually takes beside what is lent by name: libtorch, its threads, the heap; and
// with a GPU, the driver's part. A libtorch that was seen to take more is planned with more.
constexpr const char* kRuntimeTag = "runtime";
#ifdef PLIMSOLL_TORCH_CUDA
constexpr uint64_t kRuntimeBytes = uint64_t{384} << 20;  // its libraries are larger, used or not
#else
constexpr uint64_t kRuntimeBytes = uint64_t{168} << 20;
#endif
constexpr uint64_t kGpuRuntimeBytes = uint64_t{1400} << 20;  // with what torch keeps pinned
// Beside what is resident once libtorch is loaded: small tensors and threads' stacks.
constexpr uint64_t kHeapBytes = uint64_t{16} << 20;

// How a run goes about its recipe; none of it changes what is learned.
struct LaunchOptions {
  DeviceKind device = DeviceKind::automatic;
  unsigned workers = 0;     // threads that make batches; 0 = chosen from `threads`
  unsigned look_ahead = 0;  // batches that a worker makes at once; 0 = chosen by the plan
  unsigned threads = 1;     // in all
  bool quiet = false;
};

struct TrainJob {
  const graph::Store& store;
  recipe::Recipe recipe;
  LaunchOptions run;
  std::filesystem::path save_dir;
  bool resume = false;      // from save_dir/last.pth; `recipe` is then what recipe::resume gave
  uint64_t save_every = 0;  // epochs from one epoch_NNN.pth to the next; 0 = none
  double checkpoint_minutes = 30;  // how much work a kill -9 may cost
  plan::Plan plan;
  std::filesystem::path memory_log;  // .csv of memory over time; empty = not written
  memory::Ledger& ledger;
};

// The file of a prediction. `columns` has those of the classes and of the hidden layer.
struct OutputColumns {
  uint64_t classes = 0;
  uint64_t hidden = 0;
};
inline formats::NpyRows::Options output_options(Output output, const std::filesystem::path& path,
                                                uint64_t rows, const OutputColumns& columns) {
  if (output == Output::classes) return {path, formats::NpyType::int64, rows, 0};
  return {path, formats::NpyType::float32, rows,
          output == Output::logits ? columns.classes : columns.hidden};
}

struct PredictJob {
  const graph::Store& store;
  std::filesystem::path checkpoint;
  SplitName split = SplitName::test;
  Output output = Output::classes;
  recipe::Evaluation evaluation = recipe::Evaluation::sampled;
  std::filesystem::path out;      // .npy; rows by ascending original id
  std::filesystem::path ids_out;  // .npy of those ids; empty = not written
  LaunchOptions run;
  plan::Plan plan;
  memory::Ledger& ledger;
};

// What the library exports under the name kEntryPoint; the pointers never are null.
struct Module {
  // Returns the signal that asked the run to stop, 0 when it ended by itself.
  int (*train)(const TrainJob& job);
  void (*predict)(const PredictJob& job);
  // The recipe that a checkpoint was trained with.
  recipe::Recipe (*read_recipe)(const std::filesystem::path& checkpoint);
  // Whether torch can compute on a GPU here.
  bool (*has_gpu)();
  // What training steps cost: on the GPU, or on so many threads of the CPU. And what the library
  // takes, by what was resident before it was loaded.
  plan::StepRates (*measure_steps)(bool gpu, unsigned threads, uint64_t resident_before,
                                   memory::Ledger& ledger);
};
constexpr const char* kEntryPoint = "plimsoll_train_module";
using EntryPoint = const Module* (*)();

}  // namespace plimsoll::train
