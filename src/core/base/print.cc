#include "base/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace plimsoll {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Characters that a terminal obeys instead of showing them, or that hide or reorder others.
constexpr std::array kInvisible = {
    Range{0x00, 0x1f},     Range{0x7f, 0x9f},     Range{0x061c, 0x061c},
    Range{0x200b, 0x200f}, Range{0x2028, 0x202e}, Range{0x2060, 0x2069},
    Range{0xfeff, 0xfeff}, Range{0xfff9, 0xfffb}, Range{0xe0000, 0xe007f}};

bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

bool is_visible(char32_t code) {
  if (code >= 0x20 && code < 0x7f) return true;
  return std::ranges::none_of(
      kInvisible, [&](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string escape_of(char32_t code) {
  const auto number = static_cast<unsigned>(code);
  if (code <= 0xff) return fmt::format("\\x{:02x}", number);
  return code <= 0xffff ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

std::string made_visible(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto character = first_character(text);
    const std::string_view bytes = text.substr(0, character ? character->bytes : 1);
    if (!character) {
      shown += escape_of(static_cast<unsigned char>(bytes.front()));
    } else if (is_visible(character->code) || kept.find(bytes) != std::string_view::npos) {
      shown += bytes;
    } else {
      shown += escape_of(character->code);
    }
    text.remove_prefix(bytes.size());
  }
  return shown;
}

struct Mark {
  std::string_view mark;
  std::string_view ascii;
};
constexpr std::array<Mark, 19> kMarks = {{{"±", "+-"},
                                          {"×", "x"},
                                          {"≤", "<="},
                                          {"≥", ">="},
                                          {"…", "..."},
                                          {"–", "-"},
                                          {"→", "->"},
                                          {"✓", "ok"},
                                          {"✗", "x"},
                                          {"°C", "C"},
                                          {"█", "#"},
                                          {"▏", "|"},
                                          {"▕", "|"},
                                          {"▎", "-"},
                                          {"▍", "-"},
                                          {"▌", "-"},
                                          {"▋", "-"},
                                          {"▊", "-"},
                                          {"▉", "-"}}};

}  // namespace

std::optional<Character> first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return Character{.code = first, .bytes = 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast.at(bytes) || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return Character{.code = code, .bytes = bytes};
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const auto* const other = std::find_if(text.begin(), text.end(), is_beyond_ascii);
    const auto plain = static_cast<size_t>(other - text.begin());
    valid += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto character = first_character(text);
    const size_t bytes = character ? character->bytes : 1;
    character ? valid += text.substr(0, bytes) : valid += '?';
    text.remove_prefix(bytes);
  }
  return valid;
}

std::string printable(std::string_view text) { return made_visible(text, "\n\t"); }

std::string printable_line(std::string_view text) { return made_visible(text, ""); }

bool shows_unicode(const Host& host) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = host.variable(name).value_or("");
    if (locale.empty()) continue;
    std::erase(locale, '-');
    std::ranges::transform(locale, locale.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf8") != std::string::npos;
  }
  return true;
}

std::string with_ascii_marks(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto* const found =
        std::ranges::find_if(kMarks, [&](const Mark& one) { return text.starts_with(one.mark); });
    if (found == kMarks.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += found->ascii;
      text.remove_prefix(found->mark.size());
    }
  }
  return result;
}

std::string for_locale(std::string text) {
  return shows_unicode() ? std::move(text) : with_ascii_marks(text);
}

}  // namespace plimsoll
