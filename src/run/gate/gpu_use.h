// The GPUs of one exec, from the gate to the memory's return: between the command line and gate/.
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
  // `allowed`: CUDA_VISIBLE_DEVICES as the command would have it without us.
  GpuUse(gate::Options options, std::optional<std::string> allowed)
      : options_(std::move(options)), allowed_(std::move(allowed)) {}

  // Waits until the GPUs have the room, and lets go of the driver, so that no process started
  // afterwards inherits its files. Returns who was in the way if the room does not come in time.
  std::optional<std::string> enter();

  // What the command's environment says about its GPUs.
  std::vector<std::string> environment() const;

  // Whether one of them computes right now; false if that is unknown.
  bool busy();

  // Waits until their memory is back, and says so where it is not.
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

}  // namespace plimsoll::gate
