// The disk that a folder lies on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace plimsoll::io {

struct Disk {
  dev_t device = 0;  // two folders with the same share their free space
  uint64_t free_bytes = 0;
};

// Throws Error{io} where the folder cannot be reached.
Disk disk_of(const std::filesystem::path& folder);

}  // namespace plimsoll::io
