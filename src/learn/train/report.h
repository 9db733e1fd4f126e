// What a training prints: bars as tqdm draws them, on a terminal; one line an epoch, always. Bars
// go to stderr and lines to stdout, in the form that users' scripts look for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::train {

// How far a pass over batches has come.
struct PassState {
  std::string title;   // "Training"
  uint64_t total = 0;  // batches
  uint64_t first = 0;  // where it began: a resumed pass has done these before
  uint64_t done = 0;   // those before `first` included
  double elapsed_seconds = 0;
  std::optional<double> loss;
};

// "Training:  42%|████▏     | 3961/9432 [01:04<01:28, 61.70it/s, loss=1.68]"
std::string format_pass(const PassState& state);

struct EpochLine {
  uint64_t epoch = 0;  // from 1
  double loss = 0;
  std::optional<double> valid_accuracy;  // none in epochs without evaluation
  std::optional<double> test_accuracy;
  double seconds = 0;
};

// "Epoch 001 | Loss: 1.6800 | Val: 0.5012 | Test: 0.4987 | Time: 186s"
std::string format_epoch(const EpochLine& line);

// One run's report, for one thread. A reader that has gone away does not end the run.
class TrainReport {
 public:
  explicit TrainReport(bool bars) : bars_(bars) {}
  ~TrainReport() { end_pass(); }
  TrainReport(const TrainReport&) = delete;
  TrainReport& operator=(const TrainReport&) = delete;

  // Bars are for terminals, unless the user wants it quiet.
  static bool wants_bars(bool quiet);

  // Ends the pass before, if any.
  void begin_pass(std::string_view title, uint64_t total_batches, uint64_t first_batch);
  // Batches done so far, those before first_batch included. Cheap enough for every batch.
  void advance(uint64_t done, std::optional<double> loss = std::nullopt);
  // Leaves the bar standing where it is.
  void end_pass();

  void epoch(const EpochLine& line);
  // A line for people, on stderr.
  void note(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  const bool bars_;
  bool in_pass_ = false;
  PassState state_;
  Clock::time_point start_;
  Clock::time_point next_draw_;
};

}  // namespace plimsoll::train
