// Which processes have the GPUs' device files open. Data loader workers that were forked after CUDA
// had started keep a GPU's memory that way, and no driver lists them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

namespace plimsoll::meter {

struct DeviceUser {
  pid_t pid = 0;
  std::vector<unsigned> minors;  // of /dev/nvidia0, /dev/nvidia1, ...
};

// Processes that have a GPU and the device for CUDA's memory (/dev/nvidia-uvm) open: monitors,
// which only look, have no use for the second. Of other users' processes only root sees the files.
std::vector<DeviceUser> device_users(const std::filesystem::path& proc);

}  // namespace plimsoll::meter
