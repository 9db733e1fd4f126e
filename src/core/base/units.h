// Byte sizes, counts and durations as people write and read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

// "8G", "512M", "1.5 GiB", "4096": units are powers of 1024. Throws Error{usage} naming the text.
uint64_t parse_bytes(std::string_view text);

// "2h", "1h30m", "90s", "500ms", "1.5": seconds if there is no unit. Throws Error{usage} naming
// the text.
double parse_seconds(std::string_view text);

std::string format_bytes(uint64_t bytes);     // "7.9 GiB"
std::string format_bytes_up(uint64_t bytes);  // never less than it is: for what must be given
std::string format_count(uint64_t count);     // "111,059,956"
// With its noun, whose plural ends in s or es: "1 node", "2,708 nodes", "3 batches".
std::string counted(uint64_t count, std::string_view noun);
// Durations are measured with this clock, which nobody sets.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
std::string format_seconds(double seconds);  // "4.2 s", "3 min 12 s", "1 h 04 min"
std::string format_percent(double share);    // 0.071 -> "7.1 %"

}  // namespace plimsoll
