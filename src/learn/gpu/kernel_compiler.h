// Compiles the device code (device_store.h) for the GPU of this machine, with NVRTC, and keeps the
// result on disk. So one build of the program works on all GPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

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

// Machine code in files of a folder. Problems with them are never an error: a damaged file is
// removed, and one that cannot be written is not kept.
class KernelCache {
 public:
  explicit KernelCache(std::filesystem::path folder = kernel_cache_folder())
      : folder_(std::move(folder)) {}

  // Empty if there is none, or if it is not what was kept.
  std::string read(const std::string& name) const;
  void keep(const std::string& name, const std::string& binary) const;
  void forget(const std::string& name) const;

 private:
  const std::filesystem::path folder_;  // empty = nothing is kept
};

// The machine code for this GPU: from the cache, or compiled now, which takes a second or two.
// Throws Error{internal} with NVRTC's message if it does not compile, Error{usage} if NVRTC is
// missing.
std::string compiled_kernels(const KernelRequest& request,
                             const KernelCache& cache = KernelCache());
// The same, if the driver does not load what the cache has.
std::string recompiled_kernels(const KernelRequest& request,
                               const KernelCache& cache = KernelCache());

}  // namespace plimsoll::gpu
