// The one way in which small files are written.
#pragma once

#include <filesystem>
#include <string_view>

#include "io/partial_file.h"

namespace plimsoll::io {

// The file appears whole or not at all, as PartialFile does it, also where several write it at
// once. A device, a pipe or a link is written to and stays what it is. Throws Error.
void write_whole(const std::filesystem::path& file, std::string_view text, Sync sync = Sync::yes);

}  // namespace plimsoll::io
