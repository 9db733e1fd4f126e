// The figures in a framework's complaint that a GPU's memory is full.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::diagnosis {

// What the line says; torch says nearly all of it, others only what they wanted.
struct GpuMessage {
  std::optional<uint64_t> wanted_bytes;
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> free_bytes;
  std::optional<uint64_t> own_bytes;   // what the process held already
  std::optional<uint64_t> idle_bytes;  // of that, cached by torch in pieces that were too small
};

GpuMessage parse_gpu_message(std::string_view text);

// "2.00 GiB", "9.8G", "17179869184 bytes", "8,589,934,592 bytes" at the start of a text.
std::optional<uint64_t> leading_size(std::string_view text);

}  // namespace plimsoll::diagnosis
