// The GPU gate: a command starts when its GPUs have enough free memory, and after its end the gate
// checks that the memory is free again. policy.h has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::gate {

// Everything that the gate uses from outside, so that a test can replace it.
struct Surroundings {
  meter::Gpus& gpus;
  ClassifyHolder classify;
  std::function<void(const meter::GpuHolder&)> end_leftover;
  std::function<double()> now_seconds;          // a monotonic clock
  std::function<void(double seconds)> sleep;    // may throw, to end the waiting
  std::function<void(const std::string&)> say;  // prints one line when something changes
};

struct Admission {
  bool open = false;
  std::string reason;  // if not open: which processes held the GPUs
  double waited_seconds = 0;
  unsigned leftovers_ended = 0;
  std::vector<meter::GpuReading> gpus;  // the chosen GPUs, last reading before the command starts
};

// Waits until each of the GPUs named by `uuids` has `request.free_bytes` free. Ends processes left
// over from earlier runs. Gives up after `request.wait_seconds`.
Admission wait_for_room(const GpuRequest& request, const std::vector<std::string>& uuids,
                        const Surroundings& around);

struct Release {
  bool back = true;
  std::string reason;  // how much is missing and who holds it
  double waited_seconds = 0;
  std::vector<meter::GpuReading> gpus;  // the last reading
};

// Waits until the GPUs hold no more memory than in `before`, not counting processes that came since
// and are not left over from our runs. Waits up to `patience_seconds`, because a driver needs time
// to free the memory of a killed process.
Release wait_until_released(const std::vector<meter::GpuReading>& before, double patience_seconds,
                            const Surroundings& around);

// The GPUs of one `plimsoll exec`: waits for room before the command, and for the return of the
// memory after it.
class GpuUse {
 public:
  // `allowed`: CUDA_VISIBLE_DEVICES as the command would see it without plimsoll.
  GpuUse(GpuRequest request, std::optional<std::string> allowed)
      : request_(std::move(request)), allowed_(std::move(allowed)) {}

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

  GpuRequest request_;
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
