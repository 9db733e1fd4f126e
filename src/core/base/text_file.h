// Reading text: a small file whole, a long one line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plimsoll {

// All of a file that should be small; it may be a pipe. Throws Error{io} if it cannot be read. If
// it has more than `most_bytes`, throws an Error of kind `too_large` with its name, its size and
// the limit, before it has taken more memory than that.
std::string read_small_file(const std::filesystem::path& path, uint64_t most_bytes,
                            ErrorKind too_large = ErrorKind::input);

// At most `most_bytes` from the end of a file, such as a log. Throws Error{io} if it cannot be
// read.
std::string read_end(const std::filesystem::path& path, uint64_t most_bytes);

// The longest line in memory. A longer one is handed over in pieces of that length. Each begins
// with the last kLineOverlapBytes of the one before, so text shorter than the overlap is complete
// in one of them.
constexpr size_t kMostLineBytes = 65536;
constexpr size_t kLineOverlapBytes = 8192;

// Splits a text that comes in blocks, such as a growing log, into lines. A carriage return ends a
// line, as a line feed does: a progress bar is many lines, not one without an end.
class LineSplitter {
 public:
  using TakeLine = std::function<void(std::string_view line)>;  // never empty
  explicit LineSplitter(TakeLine take) : take_(std::move(take)) {}

  void add(std::string_view block);
  void finish();  // the last line may have no end

 private:
  void append(std::string_view part);

  TakeLine take_;
  std::string line_;
};

// All lines of a file, a block at a time; nothing if it cannot be read.
void for_each_line(const std::filesystem::path& file, const LineSplitter::TakeLine& take);

}  // namespace plimsoll
