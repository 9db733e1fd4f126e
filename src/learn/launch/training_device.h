// The device that a training run will use, as far as it is known before torch is loaded.
#pragma once

#include <functional>
#include <string>

#include "train/job.h"

namespace plimsoll::launch {

struct GpuFacts {
  bool built_with_cuda = false;  // the training library
  std::string usable;            // the name of the first GPU that CUDA may use; empty = none
};

// What this build can use of the GPUs that the driver shows. `first_usable` names the first; it is
// only asked if the training library can compute on a GPU.
GpuFacts gpu_facts(const std::function<std::string()>& first_usable);

struct TrainingDevice {
  bool gpu = false;
  std::string name = "cpu";  // or the name of the GPU

  bool operator==(const TrainingDevice&) const = default;
};
// Throws Error{usage} if cuda is wanted but there is no usable GPU.
TrainingDevice training_device(train::DeviceKind wanted, const GpuFacts& facts);

// The final choice when torch is loaded: torch decides whether there is a GPU. `expected` is the
// result of training_device().
TrainingDevice settled_device(train::DeviceKind wanted, bool torch_has_gpu,
                              const TrainingDevice& expected);

}  // namespace plimsoll::launch
