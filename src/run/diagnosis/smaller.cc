#include "diagnosis/smaller.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/units.h"

namespace plimsoll::diagnosis {
namespace {

std::vector<std::string> words_of(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& argument : command) {
    std::istringstream parts(argument);
    for (std::string word; parts >> word;) words.push_back(word);
  }
  return words;
}

bool names_a_batch_size(std::string_view option) {
  for (const std::string_view ending : {"batch-size", "batch_size", "batchsize", "--bs"}) {
    if (option.ends_with(ending)) return true;
  }
  return option == "-b";
}

std::optional<uint64_t> batch_size(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value > 1 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string smaller_batch(const std::vector<std::string>& command) {
  const std::vector<std::string> words = words_of(command);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equal = word.find('=');
    const bool joined = equal != std::string::npos;
    if (!names_a_batch_size(word.substr(0, equal))) continue;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const auto size = batch_size(joined ? std::string_view(word).substr(equal + 1) : next);
    if (!size) continue;
    return fmt::format("{}{}{} instead of {}", word.substr(0, equal), joined ? "=" : " ", *size / 2,
                       *size);
  }
  return "--batch-size at half its value";
}

std::optional<std::string> larger_memory(uint64_t bytes, std::optional<uint64_t> most_bytes) {
  const uint64_t more = bytes + bytes / 2;
  if (most_bytes && more > *most_bytes) return {};
  return rounded_up(more);
}

std::string rounded_up(uint64_t bytes) {
  if (bytes < 4 * kGiB) return fmt::format("{}M", (bytes + kMiB - 1) / kMiB);
  return fmt::format("{}G", (bytes + kGiB - 1) / kGiB);
}

}  // namespace plimsoll::diagnosis
