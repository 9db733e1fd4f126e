// A text file with one line a step, in ascending order: history.csv and history.jsonl. Opening it
// again cuts off steps that are trained again, and a line that a crash left half written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace plimsoll::track {

class LineLog {
 public:
  struct Layout {
    std::string header;       // the first line; empty: none
    std::string before_step;  // what every other line begins with, before the number of its step
  };
  // Keeps the lines up to `last_step`. A file with another header is written anew. Throws Error.
  LineLog(const std::filesystem::path& file, const Layout& layout, uint64_t last_step);

  // The step of the last line; 0 if there is none.
  uint64_t last_step() const { return last_step_; }

  // Appends a line, without its end. Throws Error.
  void add(std::string_view line);

 private:
  std::string path_;
  Fd file_;
  uint64_t last_step_ = 0;
};

}  // namespace plimsoll::track
