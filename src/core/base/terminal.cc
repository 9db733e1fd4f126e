#include "base/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/print.h"

namespace plimsoll {
namespace {

constexpr size_t kWrapColumns = 100;

constexpr size_t kUsualColumns = 80;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::optional<size_t> terminal_columns(int stream) {
  winsize size = {};
  if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* wanted = std::getenv("COLUMNS");
  const int64_t columns = wanted == nullptr ? 0 : std::strtol(wanted, nullptr, 10);
  if (columns > 0) return static_cast<size_t>(columns);
  return isatty(stream) != 0 ? std::optional(kUsualColumns) : std::nullopt;
}

std::string wrap(const std::string& text, size_t indent) {
  std::istringstream words(text);
  std::string wrapped;
  size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kWrapColumns) {
      wrapped += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      wrapped += " ";
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped;
}

size_t columns_of(std::string_view text) {
  const std::string shown = for_locale(std::string(text));
  return shown.size() - static_cast<size_t>(std::ranges::count_if(shown, continues_character));
}

std::string_view cut_to(std::string_view text, size_t columns) {
  size_t used = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!continues_character(text[i]) && ++used > columns) return text.substr(0, i);
  }
  return text;
}

bool redraws(int stream) {
  const char* const kind = std::getenv("TERM");
  return isatty(stream) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool shows_colours(int stream) {
  const char* const unwanted = std::getenv("NO_COLOR");
  return redraws(stream) && (unwanted == nullptr || *unwanted == '\0');
}

// A line that wraps could not be drawn again in place.
void draw_line(const std::string& text) {
  const std::string shown = for_locale(text);
  const size_t columns = terminal_columns(STDERR_FILENO).value_or(0);
  const std::string_view cut = columns > 1 ? cut_to(shown, columns - 1) : std::string_view(shown);
  std::fputs(fmt::format("\r{}\033[K", cut).c_str(), stderr);
  std::fflush(stderr);
}

void keep_line() { std::fputs("\n", stderr); }

void clear_line() {
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

LiveLines::LiveLines() : on_terminal_(redraws(STDERR_FILENO)) {}

// Up to the first of them, and everything below gone.
std::string LiveLines::erase() {
  std::string text = shown_ == 0 ? "" : fmt::format("\033[{}A\r\033[J", shown_);
  shown_ = 0;
  return text;
}

void LiveLines::say(const std::string& text) {
  fmt::print(stderr, "{}{}\n", erase(), for_locale(printable(text)));
}

void LiveLines::show(const std::vector<std::string>& lines) {
  if (!on_terminal_) return;
  const size_t columns =
      terminal_columns(STDERR_FILENO).value_or(kUsualColumns) - 1;  // a full line would wrap
  std::string text = erase();
  for (const std::string& line : lines) {
    text += fmt::format("{}\n", cut_to(for_locale(printable_line(line)), columns));
  }
  shown_ = lines.size();
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
}

}  // namespace plimsoll
