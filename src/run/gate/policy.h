// The rules of the GPU gate: what a command requests, and whether it may start.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host.h"
#include "meter/gpu.h"

namespace plimsoll::gate {

// Which GPUs a command gets: the value of --gpu.
struct GpuSelection {
  enum class Kind {
    unchanged,  // plimsoll leaves the GPUs alone: the command sees what its environment allows
    none,
    all,  // that the environment allows
    listed,
  };
  Kind kind = Kind::unchanged;
  std::string list = {};  // with `listed`: indices or UUIDs, "0,1"

  bool wants_gpus() const { return kind == Kind::all || kind == Kind::listed; }
  bool operator==(const GpuSelection&) const = default;
};
GpuSelection selection_of(const std::string& text);  // "none", "all", "0,1"; "" is `unchanged`
std::string text_of(const GpuSelection& selection);

// What a command requests from the GPU gate.
struct GpuRequest {
  GpuSelection gpus;
  std::optional<uint64_t> free_bytes;  // --gpu-free, needed on each GPU; without it 0
  double wait_seconds = 0;             // --gpu-wait; 0: check once
};

// The selected GPUs, in the order of the list. Throws Error{usage} for a GPU that does not exist,
// and for one that `allowed` excludes. `allowed` is an inherited CUDA_VISIBLE_DEVICES, as Slurm
// sets it.
std::vector<meter::GpuReading> choose_gpus(const GpuSelection& selection,
                                           const std::vector<meter::GpuReading>& all,
                                           const std::optional<std::string>& allowed = {});

// The value for CUDA_VISIBLE_DEVICES. It holds UUIDs, because CUDA and the driver number GPUs
// differently. Without GPUs it is empty, which hides all of them.
std::string visible_devices(const std::vector<meter::GpuReading>& chosen);

// Throws Error{io}, which says what to do, if `access` has no GPUs.
meter::Gpus& require_gpus(const meter::GpuAccess& access);

// Who owns a process on a GPU. The gate ends only leftovers and waits for all others.
enum class Whose {
  leftover,    // left over from a plimsoll run that has ended
  my_job,      // of the same user: a plimsoll run in progress, or any other program
  other_user,  // or a process that is not visible in this pid namespace
};
using ClassifyHolder = std::function<Whose(const meter::GpuHolder&)>;

// A classification without the registry of runs: no process is a leftover.
Whose classify_by_user(const meter::GpuHolder& holder, uid_t me);

struct GateDecision {
  enum class Move { open, end_leftovers, wait, give_up };
  Move move = Move::open;
  std::vector<meter::GpuHolder> to_end;  // with end_leftovers: end these, then call next() again
  // For messages: which processes hold the GPUs and how much is free. Empty with `open`.
  std::string reason;
};

// Decides from readings and a clock, without side effects outside itself. Call next() until it
// opens or gives up.
class GatePolicy {
 public:
  GatePolicy(uint64_t needed_bytes, double wait_seconds, ClassifyHolder classify);

  // `chosen`: current readings of the GPUs that the command will get.
  GateDecision next(const std::vector<meter::GpuReading>& chosen, double now_seconds);

 private:
  std::vector<meter::GpuHolder> leftovers(const std::vector<meter::GpuReading>& chosen,
                                          double now_seconds);
  std::string reason_for(const std::vector<meter::GpuReading>& chosen) const;
  Whose whose(const meter::GpuHolder& holder) const;

  const uint64_t needed_bytes_;
  const double wait_seconds_;
  const ClassifyHolder classify_;
  double started_at_ = -1;
  std::optional<double> first_ended_at_;
  using Who = std::pair<pid_t, uint64_t>;  // pid and start time
  std::map<Who, Whose> whose_;  // cache for one call of next(): classify_ may scan all processes
  std::map<Who, double> ended_at_;  // needed because a driver lists an ended process for a while
};

}  // namespace plimsoll::gate
