// The members of zip archives, npz files among them, as streams. A member is inflated as it is
// read, never as a whole, so that its size does not matter.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "formats/byte_stream.h"

namespace plimsoll::formats {

// In the archive's order.
std::vector<std::string> zip_members(const std::filesystem::path& archive);

// Any number of streams may be open over one member. Its checksum is checked by the read that meets
// the end: whoever relies on the bytes reads up to there.
std::unique_ptr<ByteStream> open_zip_member(const std::filesystem::path& archive,
                                            const std::string& member);

}  // namespace plimsoll::formats
