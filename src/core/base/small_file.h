// Files that are read whole because they are small: one that is not is refused before it has taken
// more memory than that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace plimsoll {

// All of the file, a pipe too. Throws Error{io} where it cannot be read, and Error{too_large} with
// its name, its size and the limit where it has more than `most_bytes`.
std::string read_small_file(const std::filesystem::path& path, uint64_t most_bytes,
                            ErrorKind too_large = ErrorKind::input);

}  // namespace plimsoll
