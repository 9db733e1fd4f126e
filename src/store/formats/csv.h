// Streams lines of comma-separated numbers. A file may start with a header, a line with only words,
// which is skipped. CRLF, spaces around fields, a byte order mark, a missing last newline and blank
// lines at the end are accepted; a blank line before other lines is an error. The bytes may be
// anything: the result is numbers, or Error{input} with file and line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_stream.h"

namespace plimsoll::formats {

struct CsvLine {
  std::string_view text;
  uint64_t number = 0;  // from 1
};

// For one thread at a time.
class CsvReader {
 public:
  explicit CsvReader(std::unique_ptr<ByteStream> stream);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // The next line; its text is valid until the next call. Empty at the end.
  std::optional<CsvLine> next();
  // Reads to the end without parsing, and returns the number of lines.
  uint64_t count_rest();

  const std::string& name() const { return stream_->name(); }
  uint64_t file_position() const { return stream_->file_position(); }
  // The number of the first line after the header: 1 or 2.
  uint64_t first_line() const { return header_.empty() ? 1 : 2; }
  // The names of the columns, without spaces and quotes; empty if there is no header.
  const std::vector<std::string>& header() const { return header_; }

 private:
  std::optional<CsvLine> next_line();
  bool refill();

  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;  // 256 KiB; grows for a longer line, up to 8 MiB
  size_t begin_ = 0;          // [begin_, end_) has been read but not yet returned
  size_t end_ = 0;
  uint64_t line_number_ = 0;
  std::vector<std::string> header_;
  std::optional<CsvLine> pending_;  // the first line, if it is not a header
};

size_t count_fields(std::string_view line);

// Each parses a whole line, which must have exactly the expected number of fields. `file` is for
// messages.
void parse_features(const std::string& file, const CsvLine& line, std::span<float> values);
void parse_ids(const std::string& file, const CsvLine& line, std::span<uint32_t> ids,
               uint64_t nodes);
int32_t parse_label(const std::string& file, const CsvLine& line);
uint64_t parse_count(const std::string& file, const CsvLine& line);

}  // namespace plimsoll::formats
