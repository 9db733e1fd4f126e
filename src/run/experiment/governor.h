// Sets the CPUs' frequency governor for the duration of a batch. The old governor is always
// restored: a small separate process waits for ours to end, for any reason, and restores it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/fd.h"

namespace plimsoll::experiment {

class Governor {
 public:
  // Does nothing if `name` is empty. The process must have only one thread, because this forks.
  // `cpus` is the kernel's folder; tests pass another one.
  explicit Governor(const std::string& name,
                    const std::filesystem::path& cpus = "/sys/devices/system/cpu");
  Governor(const Governor&) = delete;
  Governor& operator=(const Governor&) = delete;
  ~Governor();

  // Why it could not be set; empty on success.
  const std::string& obstacle() const { return obstacle_; }

 private:
  std::string obstacle_;
  Fd alive_;  // when it closes, the guard process restores the governor
  pid_t guard_ = 0;
};

}  // namespace plimsoll::experiment
