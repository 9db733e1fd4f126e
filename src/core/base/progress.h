// What a long command shows while it works: a bar with rate and time left on a terminal, a plain
// line every few seconds elsewhere, nothing if the work ends within a second.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>

namespace plimsoll {

enum class ProgressStyle { bar, lines, silent };

// One command's progress, a step at a time. add() may be called by any thread.
class Progress {
 public:
  explicit Progress(ProgressStyle style) : style_(style) {}
  ~Progress() { finish_step(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Ends the step before, if any. `unit` names what is counted ("edges"); unit "bytes" is shown as
  // MiB.
  void start_step(std::string_view title, std::string_view unit, uint64_t total);
  void add(uint64_t count);
  void finish_step();

  // Bars when stderr is a terminal, lines otherwise; silent when the user asked for it.
  static ProgressStyle detect(bool quiet);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();  // outside of a step
  void show(double elapsed_seconds, bool final);

  const ProgressStyle style_;
  std::mutex mutex_;  // guards the fields below but done_ and next_show_ms_
  std::string title_;
  std::string unit_;
  uint64_t total_ = 0;
  Clock::time_point start_;
  bool active_ = false;
  bool shown_ = false;
  std::atomic<uint64_t> done_ = 0;
  std::atomic<int64_t> next_show_ms_ = kNever;
};

// "[########------]": `share` of `width` cells filled, in eighths.
std::string render_bar(double share, int width);

}  // namespace plimsoll
