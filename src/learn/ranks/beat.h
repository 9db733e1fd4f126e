// A beat is a message that every rank sends twice a second: that it is alive, how far it is, and
// whether it does anything. This file decides from the beats of a rank whether that rank is lost.
// Pure: it uses no clock and no connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::ranks {

enum class Doing {
  preparing,  // before the first progress: it may also read a whole store or measure the machine
  working,
  waiting,  // the training thread, for other ranks
};

struct Beat {
  uint64_t count = 0;     // of beats so far
  uint64_t progress = 0;  // rises whenever the training thread has done something
  uint64_t activity = 0;  // rises whenever the process has computed, read or written
  Doing doing = Doing::preparing;

  bool operator==(const Beat&) const = default;
};
std::string to_text(const Beat& beat);
std::optional<Beat> parse_beat(std::string_view text);

// A rank that stood still for six seconds is known to all ranks before eight, and they have ended
// before ten.
constexpr std::chrono::milliseconds kStandstill = std::chrono::seconds(6);

struct BeatLimits {
  // A rank without a beat for this long was stopped, or its host is lost.
  std::chrono::milliseconds silence = std::chrono::seconds(6);
  // The same if a connection between ranks has just failed.
  std::chrono::milliseconds suspicious_silence = std::chrono::milliseconds(2500);
  // A rank that beats and should work, but neither computes nor reads nor writes: it hangs, for
  // example in a read of a dead disk.
  std::chrono::milliseconds standstill = kStandstill;
  // A rank that does something, but makes no progress: it may be slow. While it prepares, every
  // activity is progress.
  std::chrono::milliseconds no_progress = std::chrono::minutes(30);
};

// Watches one other rank.
class BeatJudge {
 public:
  using Time = std::chrono::steady_clock::time_point;
  BeatJudge(const BeatLimits& limits, Time start) : limits_(limits), judged_(start) {}

  // Call it about twice a second. `beat` is the newest one; nothing before the first. Returns why
  // the rank counts as lost.
  std::optional<std::string> judge(const std::optional<Beat>& beat, Time now, bool suspicious);

 private:
  using Duration = std::chrono::milliseconds;
  const BeatLimits limits_;
  std::optional<Beat> last_;
  Time judged_;
  // How long it has done none of these, as far as this process was awake to see it.
  Duration silent_{0};
  Duration still_{0};
  Duration without_progress_{0};
};

}  // namespace plimsoll::ranks
