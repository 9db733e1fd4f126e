// The CPUs' frequency governor for the time of a batch. It comes back whatever the end is: a small
// process of its own waits for ours to go, and restores it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/fd.h"

namespace plimsoll::experiment {

class Governor {
 public:
  // Does nothing where `name` is empty. To be made while the process has one thread. `cpus` is the
  // kernel's folder, or a test's.
  explicit Governor(const std::string& name,
                    const std::filesystem::path& cpus = "/sys/devices/system/cpu");
  Governor(const Governor&) = delete;
  Governor& operator=(const Governor&) = delete;
  ~Governor();

  // Why it could not be set; empty where it was.
  const std::string& obstacle() const { return obstacle_; }

 private:
  std::string obstacle_;
  Fd alive_;  // its end tells the guard
  pid_t guard_ = 0;
};

}  // namespace plimsoll::experiment
