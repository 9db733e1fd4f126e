// Lines on stderr: those that stay, and on a terminal a few below them that are drawn again and
// again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::cli {

class LiveLines {
 public:
  LiveLines();
  bool on_terminal() const { return on_terminal_; }

  // A line that stays.
  void say(const std::string& text);
  // In place of those shown before; cut at the terminal's width. Nothing where it is no terminal.
  void show(const std::vector<std::string>& lines);

 private:
  std::string erase();

  const bool on_terminal_;
  size_t shown_ = 0;
};

// The width of the terminal that the stream is; otherwise what $COLUMNS says. Nothing where there
// is no limit, as in a pipe.
std::optional<size_t> terminal_columns(int stream);

// The beginning of a text in UTF-8 that takes no more than `columns`, a character a column.
std::string_view cut_to(std::string_view text, size_t columns);

}  // namespace plimsoll::cli
