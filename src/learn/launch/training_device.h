// The device that a training computes on. Until torch is loaded it is known only as far as the
// driver tells; then torch decides.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "train/job.h"

namespace plimsoll::launch {

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
