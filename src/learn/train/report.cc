#include "train/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/progress.h"

namespace plimsoll::train {
namespace {

constexpr auto kDrawEvery = std::chrono::milliseconds(100);
constexpr int kCells = 10;
constexpr double kMostSeconds = 1e9;  // beyond, there is no telling

// "01:04", "2:03:04"
std::string format_clock(double seconds) {
  const auto whole = static_cast<uint64_t>(std::clamp(seconds, 0.0, kMostSeconds));
  const uint64_t hours = whole / 3600;
  const uint64_t minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{:02}:{:02}", minutes, whole % 60);
}

std::string format_rate(double batches_per_second) {
  if (batches_per_second <= 0) return "?it/s";
  if (batches_per_second < 1) return fmt::format("{:5.2f}s/it", 1 / batches_per_second);
  return fmt::format("{:5.2f}it/s", batches_per_second);
}

// Three digits that mean something.
std::string format_loss(double loss) {
  return std::abs(loss) < 0.1 && loss != 0 ? fmt::format("{:.3g}", loss)
                                           : fmt::format("{:.2f}", loss);
}

}  // namespace

std::string format_pass(const PassState& state) {
  const double share =
      state.total == 0
          ? 1.0
          : std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
  const auto done_here = static_cast<double>(state.done - std::min(state.first, state.done));
  const double rate = state.elapsed_seconds > 0 ? done_here / state.elapsed_seconds : 0;
  const auto left = static_cast<double>(state.total - std::min(state.done, state.total));
  // tqdm fills an eighth of a cell once it is reached, render_bar the nearest one.
  const double eighths = std::floor(share * kCells * 8) / (kCells * 8);
  const std::string loss = state.loss ? ", loss=" + format_loss(*state.loss) : "";
  return fmt::format("{}: {:3.0f}%|{}| {}/{} [{}<{}, {}{}]", state.title, share * 100,
                     render_bar(eighths, kCells), state.done, state.total,
                     format_clock(state.elapsed_seconds),
                     rate > 0 ? format_clock(left / rate) : "?", format_rate(rate), loss);
}

std::string format_epoch(const EpochLine& line) {
  std::string text = fmt::format("Epoch {:03} | Loss: {:.4f}", line.epoch, line.loss);
  if (line.valid_accuracy) text += fmt::format(" | Val: {:.4f}", *line.valid_accuracy);
  if (line.test_accuracy) text += fmt::format(" | Test: {:.4f}", *line.test_accuracy);
  // 9.96 would read 10.0s with one decimal.
  const bool short_one = line.seconds < 9.95;
  return text + (short_one ? fmt::format(" | Time: {:.1f}s", line.seconds)
                           : fmt::format(" | Time: {:.0f}s", line.seconds));
}

bool TrainReport::wants_bars(bool quiet) { return !quiet && ::isatty(STDERR_FILENO) != 0; }

void TrainReport::begin_pass(std::string_view title, uint64_t total_batches, uint64_t first_batch) {
  end_pass();
  if (!bars_) return;
  in_pass_ = true;
  state_ = {.title = std::string(title),
            .total = total_batches,
            .first = first_batch,
            .done = first_batch};
  start_ = Clock::now();
  draw(start_);
}

void TrainReport::advance(uint64_t done, std::optional<double> loss) {
  if (!in_pass_) return;
  state_.done = done;
  if (loss) state_.loss = loss;
  const auto now = Clock::now();
  if (now >= next_draw_) draw(now);
}

void TrainReport::end_pass() {
  if (!in_pass_) return;
  in_pass_ = false;
  draw(Clock::now());
  std::fputs("\n", stderr);
}

void TrainReport::draw(Clock::time_point now) {
  next_draw_ = now + kDrawEvery;
  state_.elapsed_seconds = std::chrono::duration<double>(now - start_).count();
  // Plain stdio throughout: fmt::print throws, and hours of work must not end by that.
  std::fputs(fmt::format("\r{}\033[K", format_pass(state_)).c_str(), stderr);
  std::fflush(stderr);
}

void TrainReport::note(const std::string& text) {
  if (in_pass_) std::fputs("\r\033[K", stderr);
  std::fputs((text + "\n").c_str(), stderr);
  if (in_pass_) draw(Clock::now());
}

void TrainReport::epoch(const EpochLine& line) {
  end_pass();
  std::fputs((format_epoch(line) + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace plimsoll::train
