// CRC-32C (Castagnoli), masked as TensorFlow's record files have it.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::track {

uint32_t crc32c(std::string_view bytes);

// Rotated and shifted by a constant, so that a checksum of data that has checksums in it stays
// useful.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace plimsoll::track
