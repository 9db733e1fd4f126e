// Who a process is, from /proc: for messages, and for telling it from another with the same pid.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::meter {

struct ProcessInfo {
  uint64_t start_ticks = 0;  // field 22 of its stat
  uid_t user_id = 0;
  std::string user;
  std::string command;  // at most 80 characters
};

// Nothing if there is no such process (any more). `proc` is /proc, or a test's copy.
std::optional<ProcessInfo> process_info(const std::filesystem::path& proc, pid_t pid);

// Which processes have the GPUs' device files open. Data loader workers that were forked after CUDA
// had started keep a GPU's memory that way, and no driver lists them.

struct DeviceUser {
  pid_t pid = 0;
  std::vector<unsigned> minors;  // of /dev/nvidia0, /dev/nvidia1, ...
};

// Processes that have a GPU and the device for CUDA's memory (/dev/nvidia-uvm) open: monitors,
// which only look, have no use for the second. Of other users' processes only root sees the files.
std::vector<DeviceUser> device_users(const std::filesystem::path& proc);

}  // namespace plimsoll::meter
