// Who holds a GPU: those the driver lists, and those who have its device open.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "meter/gpu.h"
#include "meter/nvml_processes.h"
#include "meter/open_files.h"

namespace plimsoll::meter {

// Of the GPU that is /dev/nvidia`minor`. A process that is listed twice (compute and graphics)
// counts once; this process never counts.
std::vector<GpuHolder> gpu_holders(const std::filesystem::path& proc,
                                   std::span<const ListedProcess> listed,
                                   std::span<const DeviceUser> device_users, unsigned minor);

}  // namespace plimsoll::meter
