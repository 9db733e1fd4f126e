// The GPU gate: a command starts when its GPUs have the room it needs, and its memory is seen to
// come back after its end. The policy is in policy.h; this is the loop around it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::gate {

// All that the gate touches, so that a test can be all of it.
struct Surroundings {
  meter::Gpus& gpus;
  ClassifyHolder classify;
  std::function<void(const meter::GpuHolder&)> end_leftover;
  std::function<double()> now_seconds;          // never backwards
  std::function<void(double seconds)> sleep;    // may throw, to end the waiting
  std::function<void(const std::string&)> say;  // one line for people, when something changes
};

struct Admission {
  bool open = false;
  std::string reason;  // who was in the way, when it stayed shut
  double waited_seconds = 0;
  unsigned leftovers_ended = 0;
  std::vector<meter::GpuReading> gpus;  // the chosen ones, as last read: the snapshot before
};

// Waits until each of the GPUs named by `uuids` has `options.free_bytes` free, ends leftovers of
// ours, and gives up after `options.wait_seconds`.
Admission wait_for_room(const Options& options, const std::vector<std::string>& uuids,
                        const Surroundings& around);

struct Release {
  bool back = true;
  std::string reason;  // how much is missing and who holds it
  double waited_seconds = 0;
  std::vector<meter::GpuReading> gpus;  // as last read: the snapshot at the end
};

// Waits until the GPUs hold no more than they did in `before`, but for what newcomers hold that are
// no leftovers: up to `patience_seconds`, for a driver takes its time to free what a killed process
// had.
Release wait_until_released(const std::vector<meter::GpuReading>& before, double patience_seconds,
                            const Surroundings& around);

}  // namespace plimsoll::gate
