#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/terminal.h"
#include "base/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kFirstShowMs = 1000;
constexpr int64_t kBarEveryMs = 100;
constexpr int64_t kLineEveryMs = 10'000;
constexpr int kBarWidth = 24;

std::string format_rate(double per_second, std::string_view unit) {
  if (unit == "bytes") return fmt::format("{:.0f} MiB/s", per_second / static_cast<double>(kMiB));
  if (per_second >= 1e6) return fmt::format("{:.1f} M {}/s", per_second / 1e6, unit);
  if (per_second >= 1e3) return fmt::format("{:.0f} k {}/s", per_second / 1e3, unit);
  return fmt::format("{:.0f} {}/s", per_second, unit);
}

}  // namespace

std::string render_bar(double share, int width) {
  static constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths.at(static_cast<size_t>(eighths % 8));
  const int cells = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  return bar + std::string(static_cast<size_t>(width - cells), ' ');
}

ProgressStyle Progress::detect(bool quiet) {
  if (quiet) return ProgressStyle::silent;
  return redraws(STDERR_FILENO) ? ProgressStyle::bar : ProgressStyle::lines;
}

void Progress::start_step(std::string_view title, std::string_view unit, uint64_t total) {
  finish_step();
  const std::lock_guard lock(mutex_);
  title_ = title;
  unit_ = unit;
  total_ = total;
  start_ = Clock::now();
  active_ = true;
  shown_ = false;
  done_ = 0;
  next_show_ms_ = kFirstShowMs;
}

void Progress::add(uint64_t count) {
  done_ += count;
  if (style_ == ProgressStyle::silent) return;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  int64_t due = next_show_ms_.load(std::memory_order_relaxed);
  if (elapsed.count() < due || done_ >= total_) return;  // the end is finish_step's to show
  const int64_t interval = style_ == ProgressStyle::bar ? kBarEveryMs : kLineEveryMs;
  if (!next_show_ms_.compare_exchange_strong(due, elapsed.count() + interval)) return;
  const std::lock_guard lock(mutex_);
  show(static_cast<double>(elapsed.count()) / 1000, false);
}

void Progress::finish_step() {
  const std::lock_guard lock(mutex_);
  if (!active_) return;
  active_ = false;
  next_show_ms_ = kNever;
  if (shown_) show(std::chrono::duration<double>(Clock::now() - start_).count(), true);
}

void Progress::show(double elapsed_seconds, bool final) {
  shown_ = true;
  const auto done = static_cast<double>(done_.load());
  const double share = total_ == 0 ? 1.0 : std::min(1.0, done / static_cast<double>(total_));
  const double rate = elapsed_seconds > 0 ? done / elapsed_seconds : 0;
  const double left = share > 0 ? elapsed_seconds * (1 - share) / share : 0;
  const std::string when = final || share >= 1 ? "in " + format_seconds(elapsed_seconds)
                                               : format_seconds(left) + " left";
  const std::string text = fmt::format("{:>4}  {:>16}  {}", fmt::format("{:.0f}%", share * 100),
                                       format_rate(rate, unit_), when);
  if (style_ == ProgressStyle::bar) {
    draw_line(fmt::format("  {:<22} ▕{}▏ {}", title_, render_bar(share, kBarWidth), text));
    if (final) keep_line();
  } else {
    // Not fmt::print, which throws: a reader that has gone away must not end hours of work.
    std::fputs(fmt::format("  {:<22} {}\n", title_, text).c_str(), stderr);
    std::fflush(stderr);
  }
}

}  // namespace plimsoll
