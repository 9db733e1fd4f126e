// The machine's GPUs and RAM at this moment, for people who watch a batch.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "experiment/progress.h"
#include "meter/gpus.h"

namespace plimsoll::experiment {

// Of the GPUs those that `gpus` names, as exec's --gpu. Used by one thread.
class MachineWatch {
 public:
  explicit MachineWatch(std::string gpus) : gpus_(std::move(gpus)) {}
  experiment::MachineNow read();

  // Whether one of them computes that one of these processes holds. True where the driver does not
  // say how busy it is: nobody is accused on a guess.
  bool compute_for(const std::vector<pid_t>& processes);

 private:
  std::vector<meter::GpuReading> gpus(bool with_holders);

  std::string gpus_;
  bool opened_ = false;
  meter::GpuAccess access_;
};

}  // namespace plimsoll::experiment
