#include "cli/live_lines.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/utf8.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kUsualColumns = 80;

size_t terminal_columns() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string_view cut_to(std::string_view text, size_t columns) {
  size_t used = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!continues_character(text[i]) && ++used > columns) return text.substr(0, i);
  }
  return text;
}

LiveLines::LiveLines() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

// Up to the first of them, and everything below gone.
std::string LiveLines::erase() {
  std::string text = shown_ == 0 ? "" : fmt::format("\033[{}A\r\033[J", shown_);
  shown_ = 0;
  return text;
}

void LiveLines::say(const std::string& text) {
  fmt::print(stderr, "{}{}\n", erase(), printable(text));
}

void LiveLines::show(const std::vector<std::string>& lines) {
  if (!on_terminal_) return;
  const size_t columns = terminal_columns() - 1;  // a full line would wrap
  std::string text = erase();
  for (const std::string& line : lines) {
    text += fmt::format("{}\n", cut_to(printable_line(line), columns));
  }
  shown_ = lines.size();
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
}

}  // namespace plimsoll::cli
