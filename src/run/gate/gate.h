// The GPU gate: a command starts when its GPUs have enough free memory, and after its end the gate
// checks that the memory is free again. This is the loop; policy.h has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
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

// Waits until each of the GPUs named by `uuids` has `options.free_bytes` free. Ends processes left
// over from earlier runs. Gives up after `options.wait_seconds`.
Admission wait_for_room(const Options& options, const std::vector<std::string>& uuids,
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

}  // namespace plimsoll::gate
