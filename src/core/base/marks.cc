#include "base/marks.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace plimsoll {
namespace {

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
    const auto found =
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
  static const bool unicode = shows_unicode();
  return unicode ? std::move(text) : with_ascii_marks(text);
}

}  // namespace plimsoll
