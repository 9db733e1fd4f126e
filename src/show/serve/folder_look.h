// A look at the files under a folder that costs little: names, sizes and times, no contents. Two
// looks that differ tell which folders changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace plimsoll::serve {

struct LookOptions {
  size_t depth = 4;             // of folders below the first one
  size_t most_folders = 50000;  // the rest is not looked at
};

// For each folder, by its path below `folder` ("." is that folder), a number that changes when a
// file in it changes. Only files that pages may show count (.json, .log and so on). Symbolic links
// are not followed. The folders in a batch are left out: its journal changes with them.
using FolderMarks = std::map<std::string, uint64_t>;
FolderMarks look_into(const std::filesystem::path& folder, const LookOptions& options = {});

// Whether `path` exists and leads to a place under `folder`, after all symbolic links. `folder`
// must be canonical.
bool stays_inside(const std::filesystem::path& folder, const std::filesystem::path& path);

// Mixes one more value into a folder's number.
uint64_t mixed(uint64_t mark, uint64_t value);
uint64_t mixed(uint64_t mark, std::string_view text);

}  // namespace plimsoll::serve
