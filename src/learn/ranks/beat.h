// A beat is a message that every rank sends twice a second: that it is alive, and how far it is.
// This file decides from the beats of a rank whether that rank is lost. Pure: it uses no clock and
// no connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::ranks {

struct Beat {
  uint64_t count = 0;     // of beats so far
  uint64_t progress = 0;  // rises whenever the training thread has done something
  bool waiting = false;   // the training thread waits for other ranks

  bool operator==(const Beat&) const = default;
};
std::string to_text(const Beat& beat);
std::optional<Beat> parse_beat(std::string_view text);

struct BeatLimits {
  // A rank without a beat for this long was stopped, or its host is lost. With half a second to
  // tell the others, all ranks know it within ten seconds.
  std::chrono::milliseconds silence = std::chrono::seconds(7);
  // The same if a connection between ranks has just failed.
  std::chrono::milliseconds suspicious_silence = std::chrono::milliseconds(2500);
  // A rank that is alive, but whose training thread makes no progress and does not wait for others.
  std::chrono::milliseconds no_progress = std::chrono::minutes(30);
};

// Watches one other rank.
class BeatJudge {
 public:
  using Time = std::chrono::steady_clock::time_point;
  BeatJudge(const BeatLimits& limits, Time start)
      : limits_(limits), heard_(start), progressed_(start) {}

  // `beat` is the newest one; nothing before the first. Returns why the rank counts as lost.
  std::optional<std::string> judge(const std::optional<Beat>& beat, Time now, bool suspicious);

 private:
  const BeatLimits limits_;
  std::optional<Beat> last_;
  Time heard_;       // when the last new beat came
  Time progressed_;  // when it last waited or made progress
};

}  // namespace plimsoll::ranks
