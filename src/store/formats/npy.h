// The header of numpy's npy format, versions 1 to 3: a magic string, a length and a Python dict
// literal. The bytes may be hostile: the result is always a header or Error{input}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_stream.h"

namespace plimsoll::formats {

enum class Dtype { boolean, i1, u1, i2, u2, i4, u4, i8, u8, f2, f4, f8 };

std::string_view numpy_name(Dtype dtype);  // "int64"
uint32_t item_bytes(Dtype dtype);
bool is_float(Dtype dtype);

// Invariant: value_count is the product of the shape, and value_count * item_bytes fits in 63 bits.
struct NpyHeader {
  Dtype dtype = Dtype::f4;
  std::vector<uint64_t> shape;
  uint64_t value_count = 0;
  // True only if it makes a difference: an array with at most one extent above 1 has the same bytes
  // in both orders.
  bool fortran_order = false;
};

// Reads the header and leaves the stream at the first value.
NpyHeader parse_npy_header(ByteStream& stream);

// "float32 of shape (5, 128)", for messages.
std::string describe(const NpyHeader& header);

}  // namespace plimsoll::formats
