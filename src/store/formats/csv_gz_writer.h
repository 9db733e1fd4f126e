// Lines of numbers, separated by commas and compressed with gzip at its fastest level.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "io/file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// From one thread at a time. Call finish(): a file without it is cut off.
class CsvGzWriter {
 public:
  CsvGzWriter(memory::Ledger& ledger, const std::filesystem::path& path);
  CsvGzWriter(const CsvGzWriter&) = delete;
  CsvGzWriter& operator=(const CsvGzWriter&) = delete;
  ~CsvGzWriter();

  // A field of the current line.
  void add_integer(uint64_t value);
  void add_decimal(float value);  // the shortest text that reads back as the same float
  void end_line();

  // Writes the rest and syncs the file.
  void finish();

  // The longest text of one field, its separator included.
  static constexpr uint64_t kMaxFieldBytes = 24;

 private:
  template <typename T>
  void add(T value);
  void compress(int flush);

  io::FileWriter file_;
  memory::Lease zlib_lease_;
  memory::Buffer<char> text_;
  memory::Buffer<std::byte> packed_;
  z_stream zlib_ = {};
  uint64_t text_bytes_ = 0;
  bool line_has_field_ = false;
};

}  // namespace plimsoll::formats
