// Waiting until files and folders are on the disk. Every writer that renames goes through here.
#pragma once

#include <filesystem>

#include "base/fd.h"

namespace plimsoll::io {

// Syncs a file that somebody else has written and removes it from the page cache, which a memory
// limit counts. Throws Error.
void sync_file(const std::filesystem::path& file);

// Syncs the names in a folder. If the folder may not be read, or its file system syncs no folders,
// all of the disk is synced through `on_its_disk`, any open file there. Throws Error.
void sync_folder(const std::filesystem::path& folder, const Fd& on_its_disk);

// The same for a folder that can be opened.
void sync_folder(const std::filesystem::path& folder);

// The folder that lists `path`.
std::filesystem::path folder_of(const std::filesystem::path& path);

}  // namespace plimsoll::io
