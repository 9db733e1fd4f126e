// For tests on machines without a GPU: with PLIMSOLL_GPU=host, the CPU runs the GPU's code in the
// place of a GPU, slowly. Everything else is as with a GPU. With PLIMSOLL_GPU=host-without-nvrtc,
// it is a GPU whose code cannot be compiled.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace plimsoll::gpu {

inline std::string_view emulation() {
  const char* const word = std::getenv("PLIMSOLL_GPU");
  return word == nullptr ? "" : word;
}

inline constexpr std::string_view kWithoutCompiler = "host-without-nvrtc";

inline bool emulated() { return emulation() == "host" || emulation() == kWithoutCompiler; }

// Why its code cannot run; empty if it can.
inline const char* emulated_problem() {
  return emulation() == kWithoutCompiler ? "NVIDIA's compiler NVRTC is missing (a test says so)"
                                         : "";
}

inline constexpr const char* kEmulatedName = "the CPU in place of a GPU";
inline constexpr uint64_t kEmulatedBytes = uint64_t{8} << 30;

}  // namespace plimsoll::gpu
