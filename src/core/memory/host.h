// Where the facts about memory come from: the environment, and the small text files in which the
// kernel says what there is. A test replaces both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::memory {

// `root` holds /proc and /sys; `variable` looks up the environment.
struct Host {
  std::filesystem::path root = "/";
  std::function<std::optional<std::string>(const std::string&)> variable;
  static Host real();
};

// All of a kernel file; nothing where it is missing, empty, more than 64 MiB or cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

// The number at the start of a text, behind blanks: "  17 kB" -> 17.
std::optional<uint64_t> leading_number(std::string_view text);

// The number behind a line's first word: "MemTotal:" in "MemTotal:   24684100 kB\n...".
std::optional<uint64_t> number_of(std::string_view text, std::string_view key);

}  // namespace plimsoll::memory
