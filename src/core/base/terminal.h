// Lines on stderr that are drawn again and again: a progress bar, or a few lines below those that
// stay. Everything that is drawn in place goes through here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// One line that is drawn in place: a progress bar. For terminals only; the caller knows whether
// stderr is one. They never throw: a reader that has gone away must not end hours of work.
void draw_line(const std::string& text);  // over the one drawn before
void keep_line();                         // it stays, and what follows begins below it
void clear_line();

// Several lines, below those that stay.
class LiveLines {
 public:
  LiveLines();
  bool on_terminal() const { return on_terminal_; }

  // A line that stays.
  void say(const std::string& text);
  // Replaces the lines shown before; cuts them at the terminal's width. Does nothing if stderr is
  // not a terminal.
  void show(const std::vector<std::string>& lines);

 private:
  std::string erase();

  const bool on_terminal_;
  size_t shown_ = 0;
};

// The width of the terminal if the stream is one; otherwise what $COLUMNS says. Nothing if there is
// no limit, as in a pipe.
std::optional<size_t> terminal_columns(int stream);

// Whether a line of the stream can be drawn again in place: it is a terminal, and $TERM does not
// say that it is a dumb one.
bool redraws(int stream);

// The same, and $NO_COLOR is not set or empty.
bool shows_colours(int stream);

// Breaks text between words so that it fits 100 columns. Every line except the first is indented;
// the first is assumed to begin at that column.
std::string wrap(const std::string& text, size_t indent);

// The columns that a text in UTF-8 takes when it is printed: each character takes one, and a mark
// that the locale cannot show as many as its ASCII form (for_locale in base/print.h).
size_t columns_of(std::string_view text);

// The beginning of a text in UTF-8 that fits into `columns`; each character takes one column.
std::string_view cut_to(std::string_view text, size_t columns);

}  // namespace plimsoll
