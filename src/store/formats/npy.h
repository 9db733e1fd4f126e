// numpy's npy format, versions 1 to 3: the header (a magic string, a length and a Python dict
// literal), and a reader that takes the values in the order of the file, in blocks, converts them
// to the types of a graph and checks them. The bytes may be hostile: the result is always values or
// Error{input}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

// Which arrays the caller accepts: only row by row (C order), or also column by column
// (fortran_order).
enum class NpyOrder { c, any };

// For one thread at a time. The read functions fill in the next values, as many as fit, and return
// how many; 0 at the end. The read of the last value also checks that nothing follows it, and so
// the checksum of a zip member. Throws Error{input} if the data ends early.
class NpyReader {
 public:
  explicit NpyReader(std::unique_ptr<ByteStream> stream, NpyOrder accepted = NpyOrder::c);

  const NpyHeader& header() const { return header_; }
  const std::string& name() const { return stream_->name(); }
  uint64_t values_left() const { return header_.value_count - next_value_; }

  // Integers in [0, nodes).
  size_t read_ids(std::span<uint32_t> ids, uint64_t nodes);
  // Any dtype; float64 is rounded to float32.
  size_t read_features(std::span<float> features);
  // Integers, or floats with integer values; NaN and -1 give -1, unlabelled.
  size_t read_labels(std::span<int32_t> labels);
  // Integers that are not negative.
  size_t read_counts(std::span<uint64_t> counts);
  // The values of a mask: bool, or integers that are 0 or 1.
  size_t read_flags(std::span<uint8_t> flags);

  // Skips values without checking them; at most values_left().
  void skip(uint64_t values);

 private:
  template <typename Convert>
  size_t read_blocks(size_t wanted, Convert convert);
  void read_fully(std::span<std::byte> bytes);
  void advance(uint64_t values);
  [[noreturn]] void fail_early_end() const;
  // For messages: "papers/node_label.npy at [12, 0]", the value at next_value_ + offset.
  std::string place_of(size_t offset) const;

  std::unique_ptr<ByteStream> stream_;
  NpyHeader header_;
  std::vector<std::byte> block_;
  uint64_t next_value_ = 0;
};

}  // namespace plimsoll::formats
