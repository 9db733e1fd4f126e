// Writes numpy's .npz, a zip of .npy arrays. The arrays are requested piece by piece while the
// archive is written, so they may be larger than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"

namespace plimsoll::formats {

enum class NpyType { int64, float32 };
constexpr uint64_t size_bytes(NpyType type) { return type == NpyType::int64 ? 8 : 4; }

// One array in C order.
struct NpyMember {
  std::string name;  // "edge_index.npy"
  NpyType type = NpyType::int64;
  std::vector<uint64_t> shape;

  // Returns the next bytes of the array, valid until the next call; empty at the end. All pieces
  // together must have the size that the shape says. May throw; write_npz() rethrows it.
  std::function<std::span<const std::byte>()> next_piece;

  std::string step;  // the title of the progress display; "" = not shown
};

// The header of a .npy file: version 1.0, padded to a multiple of 64 bytes.
std::string npy_header(NpyType type, std::span<const uint64_t> shape);

// The size of the array with its header.
uint64_t npy_bytes(NpyType type, std::span<const uint64_t> shape);

// Writes the members in order, deflated at level 1 or stored. `path` must not exist; after an Error
// it still does not. The file is complete but not synced to disk.
void write_npz(const std::filesystem::path& path, std::vector<NpyMember> members, bool deflate,
               Progress& progress);

}  // namespace plimsoll::formats
