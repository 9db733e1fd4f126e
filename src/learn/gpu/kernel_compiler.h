// Compiles device_code.h for a GPU, with NVRTC, and keeps the result on disk. One build of the
// program so serves all GPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/host.h"

namespace plimsoll::gpu {

struct KernelRequest {
  int major = 0;  // compute capability of the GPU
  int minor = 0;
  std::set<uint32_t> fanouts;  // each gets its own version of the code that draws
};

// The whole text, as NVRTC sees it.
std::string kernel_source(const KernelRequest& request);

// $XDG_CACHE_HOME/plimsoll/kernels, else the same in ~/.cache; empty if neither variable is set.
std::filesystem::path kernel_cache_folder(const Host& host = Host::real());

// The machine code for this GPU: from the cache, or compiled now, which takes a second or two.
// Problems with the cache are never an error. Throws Error{internal} with NVRTC's message if it
// does not compile, Error{usage} if NVRTC is missing.
std::string compiled_kernels(const KernelRequest& request,
                             const std::filesystem::path& cache_folder = kernel_cache_folder());

}  // namespace plimsoll::gpu
