// The machine's GPUs and RAM at this moment, for people who watch a batch.
#pragma once

#include <string>
#include <utility>

#include "experiment/progress.h"
#include "meter/gpus.h"

namespace plimsoll::cli {

// Of the GPUs those that `gpus` names, as exec's --gpu. Used by one thread.
class MachineWatch {
 public:
  explicit MachineWatch(std::string gpus) : gpus_(std::move(gpus)) {
    if (gpus_ != "none") access_ = meter::open_gpus();
  }
  experiment::MachineNow read();

 private:
  std::string gpus_;
  meter::GpuAccess access_;
};

}  // namespace plimsoll::cli
