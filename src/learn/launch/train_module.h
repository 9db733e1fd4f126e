// The training library, the only part that uses torch, and the device that it will compute on. The
// library is loaded only when a command needs it, because that takes a third of a second and 90 MB;
// until then the device is known only as far as the driver tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/job.h"

namespace plimsoll::launch {

// ---- the library ----

constexpr const char* kTrainLibrary = "libplimsoll_train.so";

// The paths where the library is searched for a program with this path, in order.
std::vector<std::filesystem::path> train_library_places(const std::filesystem::path& program);

// The error message if it is in none of them.
std::string without_train_library(const std::filesystem::path& program, bool built_with_libtorch);

// The library that this program uses: the one that `plimsoll torch build` made, or the first of the
// places above; empty if there is none.
std::filesystem::path train_library();
// Throws Error{io} if there is none. Call it before hours of other work.
void check_train_library();
bool has_train_library();
// Whether its torch has CUDA, as far as it is known before it is loaded.
bool train_library_has_cuda();
// The memory that its libtorch usually takes (train/job.h).
uint64_t usual_runtime_bytes(bool gpu);

// Opens the library; it stays open until the process ends. Throws Error{io} if it is missing or
// cannot be loaded.
const train::Module& load_train_module();

// ---- the device ----

struct GpuFacts {
  bool built_with_cuda = false;  // the training library
  std::string usable;            // the name of the first GPU that CUDA may use; empty = none
};

// --device cuda:N. `number` counts the GPUs that CUDA_VISIBLE_DEVICES shows, from 0. Without a
// number both functions do nothing. check_gpu() throws Error{usage} if there is no such GPU.
// choose_gpu() hides the others; call it before CUDA starts, in the process that computes. Ranks
// and seeds read the option themselves.
void check_gpu(std::optional<unsigned> number);
void choose_gpu(std::optional<unsigned> number);

// What this build can use of the GPUs that the driver shows. `first_usable` names the first; it is
// only asked if the training library can compute on a GPU.
GpuFacts gpu_facts(const std::function<std::string()>& first_usable);

struct TrainingDevice {
  bool gpu = false;
  std::string name = "cpu";                 // or the name of the GPU
  uint64_t memory_bytes = 0;                // that the GPU has; 0 = not known
  std::optional<uint64_t> free_bytes = {};  // that other programs leave of it
  bool emulated = false;                    // its memory is as large as the user says

  bool operator==(const TrainingDevice&) const = default;
};
// Throws Error{usage} if cuda is wanted but there is no usable GPU.
TrainingDevice training_device(train::DeviceKind wanted, const GpuFacts& facts);

// The final choice when torch is loaded: torch decides whether there is a GPU. `expected` is the
// result of training_device().
TrainingDevice settled_device(train::DeviceKind wanted, bool torch_has_gpu,
                              const TrainingDevice& expected);

}  // namespace plimsoll::launch
