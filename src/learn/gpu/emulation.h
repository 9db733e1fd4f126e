// For tests on machines without a GPU: with PLIMSOLL_GPU=host, the CPU runs the GPU's code in the
// place of a GPU, slowly. Everything else is as with a GPU.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace plimsoll::gpu {

inline bool emulated() {
  const char* const word = std::getenv("PLIMSOLL_GPU");
  return word != nullptr && std::string_view(word) == "host";
}

inline constexpr const char* kEmulatedName = "the CPU in place of a GPU";
inline constexpr uint64_t kEmulatedBytes = uint64_t{8} << 30;

}  // namespace plimsoll::gpu
