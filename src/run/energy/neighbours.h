// Who else was on a GPU while it was measured.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>

#include "meter/gpu.h"

namespace plimsoll::energy {

// Of one GPU; asked from time to time. Keeps the first reason.
class Neighbours {
 public:
  using IsOurs = std::function<bool(pid_t)>;

  // Before anything of ours is on it, memory that nobody is listed for is somebody else's, too:
  // inside a container the driver lists nobody.
  void look_before(const meter::GpuReading& gpu, const IsOurs& is_ours);
  void look(const meter::GpuReading& gpu, const IsOurs& is_ours);

  // Empty where nobody was.
  const std::string& shared_because() const { return reason_; }

 private:
  std::string reason_;
  std::set<pid_t> unknown_;  // pids of the last look that this pid namespace does not show
};

}  // namespace plimsoll::energy
