// The values of an npy array in the order in which they lie in the file, converted in blocks to the
// types that a graph is made of, and checked on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/byte_stream.h"
#include "formats/npy.h"

namespace plimsoll::formats {

// What the caller can do with: row by row, or also column by column (fortran_order).
enum class NpyOrder { c, any };

// One thread at a time. The reads take the next values, as many as fit, and return how many; 0 at
// the end. The read that takes the last value also checks that nothing follows it, and with it a
// zip member's checksum. Data that ends early is Error{input}.
class NpyReader {
 public:
  explicit NpyReader(std::unique_ptr<ByteStream> stream, NpyOrder accepted = NpyOrder::c);

  const NpyHeader& header() const { return header_; }
  const std::string& name() const { return stream_->name(); }
  uint64_t values_left() const { return header_.value_count - next_value_; }

  // Integers in [0, nodes).
  size_t read_ids(std::span<uint32_t> ids, uint64_t nodes);
  // Any dtype; float64 is rounded.
  size_t read_features(std::span<float> features);
  // Integers or floats that hold them; NaN and -1 give -1, unlabelled.
  size_t read_labels(std::span<int32_t> labels);
  // Integers from 0 on.
  size_t read_counts(std::span<uint64_t> counts);
  // Of a mask: bool, or integers that are 0 or 1.
  size_t read_flags(std::span<uint8_t> flags);

  // At most values_left(). The values are passed over unread.
  void skip(uint64_t values);

 private:
  template <typename Convert>
  size_t read_blocks(size_t wanted, Convert convert);
  void read_fully(std::span<std::byte> bytes);
  void advance(uint64_t values);
  [[noreturn]] void fail_early_end() const;
  // "papers/node_label.npy at [12, 0]", for the value `offset` behind next_value_.
  std::string place_of(size_t offset) const;

  std::unique_ptr<ByteStream> stream_;
  NpyHeader header_;
  std::vector<std::byte> block_;
  uint64_t next_value_ = 0;
};

}  // namespace plimsoll::formats
