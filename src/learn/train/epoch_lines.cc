#include "train/epoch_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/print.h"
#include "base/progress.h"
#include "base/terminal.h"

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

bool fits(std::string_view text, size_t columns) {
  return columns == 0 || columns_of(text) <= columns;
}

}  // namespace

double PassState::rate() const {
  return elapsed_seconds > 0 ? static_cast<double>(done - std::min(first, done)) / elapsed_seconds
                             : 0;
}

double PassState::seconds_left() const {
  const auto left = static_cast<double>(total - std::min(done, total));
  return rate() > 0 ? left / rate() : 0;
}

std::string format_pass(const PassState& state, size_t columns) {
  const double share =
      state.total == 0
          ? 1.0
          : std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
  // tqdm fills an eighth of a cell once it is reached, render_bar the nearest one.
  const double eighths = std::floor(share * kCells * 8) / (kCells * 8);
  const std::string loss = state.loss ? "loss=" + format_loss(*state.loss) : "";
  const std::string comma_loss = loss.empty() ? "" : ", " + loss;
  const std::string percent = fmt::format("{}: {:3.0f}%", state.title, share * 100);
  const std::string bar = fmt::format("{}|{}|", percent, render_bar(eighths, kCells));
  const std::string run =
      state.run_seconds_left ? fmt::format("{} left", format_clock(*state.run_seconds_left)) : "";
  const std::string comma_run = run.empty() ? "" : ", run " + run;
  const std::string clock =
      fmt::format("{}<{}", format_clock(state.elapsed_seconds),
                  state.rate() > 0 ? format_clock(state.seconds_left()) : "?");
  const std::string rate = format_rate(state.rate());
  const auto counts = fmt::format("{}/{}", state.done, state.total);
  // From all of it to the least; the time of the run matters more than that of the epoch.
  const std::array<std::string, 5> ways = {
      fmt::format("{} {} [{}, {}{}]{}", bar, counts, clock, rate, comma_loss, comma_run),
      fmt::format("{} {} [{}{}]{}", bar, counts, rate, comma_loss, comma_run),
      fmt::format("{}{}{}", bar, comma_loss, comma_run),
      fmt::format("{}{}", bar, run.empty() ? "" : " " + run),
      fmt::format("{}{}", percent, run.empty() ? "" : ", " + run)};
  for (const std::string& way : ways) {
    if (fits(way, columns)) return way;
  }
  return std::string(cut_to(ways.back(), columns));
}

std::optional<double> run_seconds_left(const EpochPlace& place, const PassState& pass,
                                       double elapsed_seconds) {
  const bool first = place.epoch_seconds <= 0;
  if (first && pass.rate() <= 0) return std::nullopt;
  const double whole = first ? static_cast<double>(pass.total) / pass.rate() : place.epoch_seconds;
  const double rest = std::max(pass.seconds_left(), first ? 0 : whole - elapsed_seconds);
  return rest + static_cast<double>(place.epochs - std::min(place.epoch, place.epochs)) * whole;
}

std::string format_epoch(const EpochLine& line, size_t columns) {
  std::string text = fmt::format("Epoch {:03} | Loss: {:.4f}", line.epoch, line.loss);
  if (line.valid_accuracy) text += fmt::format(" | Val: {:.4f}", *line.valid_accuracy);
  if (line.test_accuracy) text += fmt::format(" | Test: {:.4f}", *line.test_accuracy);
  // 9.96 would read 10.0s with one decimal.
  const bool short_one = line.seconds < 9.95;
  text += short_one ? fmt::format(" | Time: {:.1f}s", line.seconds)
                    : fmt::format(" | Time: {:.0f}s", line.seconds);
  const char* const mark = line.best ? " *" : "";
  if (fits(text + mark, columns)) return text + mark;
  std::string brief = fmt::format("Epoch {:03}  loss {:.4f}", line.epoch, line.loss);
  if (line.valid_accuracy) brief += fmt::format("  val {:.4f}", *line.valid_accuracy);
  return brief + mark;
}

bool TrainReport::wants_bars(bool quiet) { return !quiet && redraws(STDERR_FILENO); }

void TrainReport::begin_epoch(const EpochPlace& place) {
  place_ = place;
  epoch_start_ = Clock::now();
}

void TrainReport::begin_pass(std::string_view title, uint64_t total_batches, uint64_t first_batch) {
  end_pass();
  if (!bars_) return;
  in_pass_ = true;
  std::string shown(title);
  if (place_) {
    shown = fmt::format("Epoch {}/{}{}", place_->epoch, place_->epochs,
                        title == kTrainingTitle ? "" : " eval");
  }
  state_ = {
      .title = std::move(shown), .total = total_batches, .first = first_batch, .done = first_batch};
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
  clear_line();
}

void TrainReport::draw(Clock::time_point now) {
  next_draw_ = now + kDrawEvery;
  state_.elapsed_seconds = std::chrono::duration<double>(now - start_).count();
  if (place_) {
    const double elapsed = std::chrono::duration<double>(now - epoch_start_).count();
    state_.run_seconds_left = run_seconds_left(*place_, state_, elapsed);
  }
  const size_t columns = terminal_columns(STDERR_FILENO).value_or(0);
  draw_line(format_pass(state_, columns > 1 ? columns - 1 : columns));
}

void TrainReport::note(const std::string& text) {
  if (in_pass_) clear_line();
  // Plain stdio throughout: fmt::print throws, and hours of work must not end by that.
  std::fputs((text + "\n").c_str(), stderr);
  if (in_pass_) draw(Clock::now());
}

void TrainReport::epoch(const EpochLine& line) {
  end_pass();
  // Scripts get the bare line.
  EpochLine shown = line;
  size_t columns = 0;
  if (isatty(STDOUT_FILENO) != 0) {
    columns = terminal_columns(STDOUT_FILENO).value_or(0);
  } else {
    shown.best = false;
  }
  std::fputs((format_epoch(shown, columns) + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace plimsoll::train
