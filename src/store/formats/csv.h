// Lines of comma-separated numbers, streamed. A file may start with a header, a line of nothing but
// words, which is passed over. It may use CRLF, spaces around fields, a byte order mark, and end
// with or without a newline or with blank lines; a blank line before other lines is an error.
// Whatever the bytes hold, the outcome is numbers or Error{input} with file and line.
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

// One thread at a time.
class CsvReader {
 public:
  explicit CsvReader(std::unique_ptr<ByteStream> stream);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // The next line; its text lives until the next call. Nothing at the end.
  std::optional<CsvLine> next();
  // Reads to the end, parsing nothing, and returns how many lines there were.
  uint64_t count_rest();

  const std::string& name() const { return stream_->name(); }
  uint64_t file_position() const { return stream_->file_position(); }
  // Of the first line behind the header: 1 or 2.
  uint64_t first_line() const { return header_.empty() ? 1 : 2; }
  // The names of the columns, without blanks and quotes; none where there is no header.
  const std::vector<std::string>& header() const { return header_; }

 private:
  std::optional<CsvLine> next_line();
  bool refill();

  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;  // 256 KiB; grows for a longer line, up to 8 MiB
  size_t begin_ = 0;          // what is not yet handed out lies in [begin_, end_)
  size_t end_ = 0;
  uint64_t line_number_ = 0;
  std::vector<std::string> header_;
  std::optional<CsvLine> pending_;  // the first line, looked at and found to be no header
};

size_t count_fields(std::string_view line);

// Each takes a whole line of exactly as many fields as asked for; `file` is for the message.
void parse_features(const std::string& file, const CsvLine& line, std::span<float> values);
void parse_ids(const std::string& file, const CsvLine& line, std::span<uint32_t> ids,
               uint64_t nodes);
int32_t parse_label(const std::string& file, const CsvLine& line);
uint64_t parse_count(const std::string& file, const CsvLine& line);

}  // namespace plimsoll::formats
