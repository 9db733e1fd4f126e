// Reads the values of an npy array in the order of the file, in blocks; converts them to the types
// of a graph and checks them.
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
