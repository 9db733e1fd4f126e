// What the machine says about itself: the environment, and the small text files of the kernel. A
// test replaces both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

// `root` holds /proc and /sys; `variable` looks up the environment.
struct Host {
  std::filesystem::path root = "/";
  std::function<std::optional<std::string>(const std::string&)> variable;
  static Host real();
};

// All of a kernel file. Nothing if it is missing, empty, larger than 64 MiB or cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

// The number at the start of a text, after blanks: "  17 kB" -> 17.
std::optional<uint64_t> leading_number(std::string_view text);

// The number after a line's first word: "MemTotal:" in "MemTotal:   24684100 kB\n...".
std::optional<uint64_t> number_of(std::string_view text, std::string_view key);

// CPU seconds of all cores since the machine started, from the text of /proc/stat: everything but
// idling and waiting for a disk. A hypervisor's share counts; guests are within user and nice.
std::optional<double> busy_cpu_seconds(std::string_view stat, double ticks_per_second);
std::optional<double> busy_cpu_seconds(const std::filesystem::path& proc);

// Plimsoll's folder in `variable` (XDG_CACHE_HOME, XDG_STATE_HOME), else in `below_home` of the
// home folder; empty if neither is set. Relative folders are ignored, as the XDG specification
// says.
std::filesystem::path user_folder(const Host& host, const char* variable, const char* below_home);

}  // namespace plimsoll
