// Everything that is wrong or odd about a user's files, collected, so that all of it is said at
// once.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::experiment {

struct Problem {
  bool is_error = true;
  std::string file;
  size_t line = 0;  // 0: of the whole file
  std::string text;
};

class Problems {
 public:
  // `lenient`: errors about keys become warnings.
  explicit Problems(bool lenient = false) : lenient_(lenient) {}

  void error(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = true, .file = file, .line = line, .text = std::move(text)});
  }
  void warning(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = false, .file = file, .line = line, .text = std::move(text)});
  }
  void key_error(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = !lenient_, .file = file, .line = line, .text = std::move(text)});
  }
  void count_note() { ++notes_; }

  const std::vector<Problem>& all() const { return all_; }
  // File by file, from the top.
  std::vector<Problem> in_order() const;
  size_t notes() const { return notes_; }
  bool lenient() const { return lenient_; }
  size_t errors() const;

 private:
  bool lenient_;
  std::vector<Problem> all_;
  size_t notes_ = 0;
};

// "settings.json:14: error: unknown key mutat; did you mean mutate?"
std::string describe(const Problem& problem);

}  // namespace plimsoll::experiment
