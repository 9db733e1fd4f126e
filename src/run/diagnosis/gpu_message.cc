#include "diagnosis/gpu_message.h"

#include <cctype>
#include <charconv>
#include <string>
#include <system_error>

namespace plimsoll::diagnosis {
namespace {

std::optional<uint64_t> size_behind(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return {};
  return leading_size(text.substr(at + words.size()));
}

// "... 9.50 GiB already allocated": the size is the two words before.
std::optional<uint64_t> size_before(std::string_view text, std::string_view words) {
  const size_t end = text.find(words);
  if (end == std::string_view::npos) return {};
  size_t start = end;
  for (int blanks = 0; start > 0; --start) {
    const char c = text[start - 1];
    if (c == ' ' && ++blanks > 1) break;
    if (c == ';' || c == '(' || c == ',') break;
  }
  std::string_view size = text.substr(start, end - start);
  while (size.starts_with(' ')) size.remove_prefix(1);
  return leading_size(size);
}

template <typename... Sizes>
std::optional<uint64_t> first_of(std::optional<uint64_t> size, Sizes... others) {
  if constexpr (sizeof...(others) == 0) {
    return size;
  } else {
    return size ? size : first_of(others...);
  }
}

}  // namespace

std::optional<uint64_t> leading_size(std::string_view text) {
  std::string digits;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool inner = (c == '.' || c == ',') && at + 1 < text.size() &&
                       std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0;
    if (!digit && !inner) break;
    if (c != ',') digits += c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
  if (at < text.size() && text[at] == ' ') ++at;
  constexpr std::string_view kPrefixes = "KMGT";
  double factor = 1;
  const size_t power = at < text.size() ? kPrefixes.find(text[at]) : std::string_view::npos;
  if (power != std::string_view::npos) {
    for (size_t i = 0; i <= power; ++i) factor *= 1024;
  }
  constexpr double kTooLarge = 9.2e18;
  if (value * factor > kTooLarge) return {};
  return static_cast<uint64_t>(value * factor);
}

GpuMessage parse_gpu_message(std::string_view text) {
  return {
      .wanted_bytes = first_of(
          size_behind(text, "Tried to allocate "), size_behind(text, "trying to allocate "),
          size_behind(text, "ut of memory allocating "), size_behind(text, "failed to allocate ")),
      .total_bytes =
          first_of(size_behind(text, "total capacity of "), size_before(text, " total capacity")),
      .free_bytes = first_of(size_behind(text, "of which "), size_before(text, " free")),
      .own_bytes = first_of(
          size_behind(text, "this process has "), size_before(text, " reserved in total"),
          size_before(text, " already allocated"), size_behind(text, "allocated so far: ")),
      .idle_bytes = size_before(text, " is reserved by PyTorch but unallocated")};
}

}  // namespace plimsoll::diagnosis
