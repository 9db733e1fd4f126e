// What to do about who holds a GPU: pure, over readings and a clock. Only a leftover of ours is
// ever ended; everybody else is waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meter/gpu.h"

namespace plimsoll::gate {

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
