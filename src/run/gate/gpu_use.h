// The GPUs of one `plimsoll exec`: waits for room before the command, and for the return of the
// memory after it. Connects the command line to the gate.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/gate.h"
#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::gate {

class GpuUse {
 public:
  // `allowed`: CUDA_VISIBLE_DEVICES as the command would see it without plimsoll.
  GpuUse(gate::Options options, std::optional<std::string> allowed)
      : options_(std::move(options)), allowed_(std::move(allowed)) {}

  // Waits until the GPUs have enough free memory, then closes the driver, so that no process
  // started later inherits its files. If there is no room in time, returns which processes hold the
  // GPUs.
  std::optional<std::string> enter();

  // The changes to the command's environment: CUDA_VISIBLE_DEVICES, or nothing without --gpu.
  std::vector<std::string> environment() const;

  // Whether one of the GPUs computes right now; false if that is unknown.
  bool busy();

  // Waits until their memory is free again; prints a message if it is not.
  void leave();

  const std::vector<meter::GpuReading>& before() const { return before_; }
  const std::vector<meter::GpuReading>& at_end() const { return at_end_; }

 private:
  meter::Gpus& driver();

  gate::Options options_;
  std::optional<std::string> allowed_;
  meter::GpuAccess access_;
  std::vector<std::string> uuids_;
  std::vector<meter::GpuReading> before_;
  std::vector<meter::GpuReading> at_end_;
};

// The name of the first GPU that CUDA may use. Empty if there is no driver or no GPU, or if
// CUDA_VISIBLE_DEVICES hides them all. A device file alone is no GPU.
std::string first_usable_gpu();

}  // namespace plimsoll::gate
