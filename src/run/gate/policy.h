// The rules of the GPU gate: what a command asks of it, and whether it may start.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/host.h"
#include "meter/gpu.h"

namespace plimsoll::gate {

// What a command asks of the GPU gate, and what its process is to see of the GPUs.

struct Options {
  // --gpu: "0,1", UUIDs, "all" or "none". Empty: the GPUs are none of our business, the command
  // sees what the environment lets it see.
  std::string gpus;
  std::optional<uint64_t> free_bytes;  // --gpu-free, on each of them; without it any room will do
  double wait_seconds = 0;             // --gpu-wait; 0 asks once

  bool wants_gpus() const { return !gpus.empty() && gpus != "none"; }
};

// The GPUs that `text` names, in its order. Throws Error{usage} for one that does not exist, with
// those that do, and for one that `allowed` (an inherited CUDA_VISIBLE_DEVICES, as Slurm sets it)
// leaves out. "all" is all that are allowed.
std::vector<meter::GpuReading> choose_gpus(const std::string& text,
                                           const std::vector<meter::GpuReading>& all,
                                           const std::optional<std::string>& allowed = {});

// For CUDA_VISIBLE_DEVICES: UUIDs, because CUDA counts GPUs in another order than the driver. Empty
// for none, which hides all of them.
std::string visible_devices(const std::vector<meter::GpuReading>& chosen);

// Throws Error{io} that says what to do where `access` has no GPUs.
meter::Gpus& require_gpus(const meter::GpuAccess& access);

// What to do about who holds a GPU: pure, over readings and a clock. Only a leftover of ours is
// ever ended; everybody else is waited for.

enum class Whose {
  leftover,    // of a run of ours that is over
  my_job,      // of the same user: a run of ours that goes on, or anything else
  other_user,  // or a process that this pid namespace does not show
};
using ClassifyHolder = std::function<Whose(const meter::GpuHolder&)>;

// For where no registry of runs is at hand: nobody is a leftover.
Whose classify_by_user(const meter::GpuHolder& holder, uid_t me);

struct Decision {
  enum class Move { open, end_leftovers, wait, give_up };
  Move move = Move::open;
  std::vector<meter::GpuHolder> to_end;  // with end_leftovers; then ask again
  // Who is in the way and how much is free, for people; with `open`, empty.
  std::string reason;
};

// Asked again and again until it opens or gives up.
class Policy {
 public:
  Policy(uint64_t needed_bytes, double wait_seconds, ClassifyHolder classify);

  // `chosen`: the GPUs the command is to get, read just now.
  Decision next(const std::vector<meter::GpuReading>& chosen, double now_seconds);

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
  using Who = std::pair<pid_t, uint64_t>;  // pid and start
  std::map<Who, Whose> whose_;             // of this question; asking may search all processes
  std::map<Who, double> ended_at_;         // a driver lists an ended process for a while longer
};

}  // namespace plimsoll::gate
