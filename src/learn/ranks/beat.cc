#include "ranks/beat.h"

#include <fmt/format.h>

#include <charconv>

namespace plimsoll::ranks {
namespace {

std::string in_words(std::chrono::milliseconds time) {
  const double seconds = static_cast<double>(time.count()) / 1000;
  return seconds < 120 ? fmt::format("{:.0f} seconds", seconds)
                       : fmt::format("{:.0f} minutes", seconds / 60);
}

}  // namespace

std::string to_text(const Beat& beat) {
  return fmt::format("{} {} {}", beat.count, beat.progress, beat.waiting ? 1 : 0);
}

std::optional<Beat> parse_beat(std::string_view text) {
  Beat beat;
  int waiting = 0;
  const char* const end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, beat.count);
  if (parsed.ec != std::errc() || parsed.ptr == end) return std::nullopt;
  parsed = std::from_chars(parsed.ptr + 1, end, beat.progress);
  if (parsed.ec != std::errc() || parsed.ptr == end) return std::nullopt;
  parsed = std::from_chars(parsed.ptr + 1, end, waiting);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  beat.waiting = waiting != 0;
  return beat;
}

std::optional<std::string> BeatJudge::judge(const std::optional<Beat>& beat, Time now,
                                            bool suspicious) {
  if (beat && beat != last_) {
    const bool moved = !last_ || beat->progress != last_->progress;
    if (moved || beat->waiting) progressed_ = now;
    heard_ = now;
    last_ = beat;
  }
  const auto silence = suspicious ? limits_.suspicious_silence : limits_.silence;
  if (now - heard_ >= silence) {
    return fmt::format("it has been silent for {}: it was killed or stopped, or its host was lost",
                       in_words(silence));
  }
  if (now - progressed_ >= limits_.no_progress) {
    return fmt::format("it lives, but its training made no progress for {}",
                       in_words(limits_.no_progress));
  }
  return std::nullopt;
}

}  // namespace plimsoll::ranks
