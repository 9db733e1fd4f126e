// Which device a training will use, as far as can be told before torch is loaded.
#pragma once

#include <string>

#include "train/job.h"

namespace plimsoll::launch {

struct GpuFacts {
  bool built_with_cuda = false;  // the training library
  std::string usable;            // the first GPU that CUDA may use, by name; empty = none
};

struct TrainingDevice {
  bool gpu = false;
  std::string name = "cpu";  // or the GPU's

  bool operator==(const TrainingDevice&) const = default;
};
// Throws Error{usage} for cuda where there is none.
TrainingDevice training_device(train::DeviceKind wanted, const GpuFacts& facts);

// The same once torch can be asked, whose word counts; `expected` is what the driver's led to.
TrainingDevice settled_device(train::DeviceKind wanted, bool torch_has_gpu,
                              const TrainingDevice& expected);

}  // namespace plimsoll::launch
