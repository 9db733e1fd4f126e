#include "ranks/beat.h"

#include <fmt/format.h>

#include <algorithm>
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
  return fmt::format("{} {} {} {}", beat.count, beat.progress, beat.activity,
                     static_cast<int>(beat.doing));
}

std::optional<Beat> parse_beat(std::string_view text) {
  Beat beat;
  uint64_t doing = 0;
  const char* next = text.data();
  const char* const end = text.data() + text.size();
  for (uint64_t* const number : {&beat.count, &beat.progress, &beat.activity, &doing}) {
    if (number != &beat.count && (next == end || *next++ != ' ')) return std::nullopt;
    const auto parsed = std::from_chars(next, end, *number);
    if (parsed.ec != std::errc()) return std::nullopt;
    next = parsed.ptr;
  }
  if (next != end || doing > static_cast<uint64_t>(Doing::waiting)) return std::nullopt;
  beat.doing = static_cast<Doing>(doing);
  return beat;
}

// A job that Slurm suspends sleeps for hours, and then each rank wakes up at a moment of its own.
// So a step counts as a second at most.
std::optional<std::string> BeatJudge::judge(const std::optional<Beat>& beat, Time now,
                                            bool suspicious) {
  const auto step = std::min<Duration>(std::chrono::duration_cast<Duration>(now - judged_),
                                       std::chrono::seconds(1));
  judged_ = now;
  silent_ += step;
  still_ += step;
  without_progress_ += step;
  if (beat && beat != last_) {
    silent_ = Duration(0);
    const bool active = !last_ || beat->activity != last_->activity;
    const bool progressed = !last_ || beat->progress != last_->progress;
    if (progressed || active || beat->doing != Doing::working) still_ = Duration(0);
    if (progressed || beat->doing == Doing::waiting ||
        (beat->doing == Doing::preparing && active)) {
      without_progress_ = Duration(0);
    }
    last_ = beat;
  }
  const auto silence = suspicious ? limits_.suspicious_silence : limits_.silence;
  if (silent_ >= silence) {
    return fmt::format("it has been silent for {}: it was killed or stopped, or its host was lost",
                       in_words(silence));
  }
  if (still_ >= limits_.standstill) {
    return fmt::format(
        "it hangs: for {} it has neither computed nor read nor written anything; its disk may be "
        "gone, or a debugger holds it",
        in_words(limits_.standstill));
  }
  if (without_progress_ >= limits_.no_progress) {
    return fmt::format("it lives, but its training made no progress for {}",
                       in_words(limits_.no_progress));
  }
  return std::nullopt;
}

}  // namespace plimsoll::ranks
