// Every rank says twice a second that it lives, and how far it has come: a beat. From the beats of
// another rank this file decides whether that rank is lost. Values in, value out: no clock, no
// connection.
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
  // A rank that is silent for so long has been stopped, or its host is lost. Together with half a
  // second to tell the others, all ranks know within ten seconds.
  std::chrono::milliseconds silence = std::chrono::seconds(7);
  // The same if a connection between ranks has just failed.
  std::chrono::milliseconds suspicious_silence = std::chrono::milliseconds(2500);
  // A rank that lives, but whose training thread neither works on nor waits for others.
  std::chrono::milliseconds no_progress = std::chrono::minutes(30);
};

// Watches one other rank.
class BeatJudge {
 public:
  using Time = std::chrono::steady_clock::time_point;
  BeatJudge(const BeatLimits& limits, Time start)
      : limits_(limits), heard_(start), progressed_(start) {}

  // Takes the newest beat, none if there was none yet. Returns why the rank counts as lost.
  std::optional<std::string> judge(const std::optional<Beat>& beat, Time now, bool suspicious);

 private:
  const BeatLimits limits_;
  std::optional<Beat> last_;
  Time heard_;       // when the last new beat came
  Time progressed_;  // when it last waited or made progress
};

}  // namespace plimsoll::ranks
