// What a training prints. A terminal shows one bar for the epoch, on stderr; it is removed at the
// end. Every epoch prints one line on stdout, in the form that users' scripts search for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::train {

constexpr std::string_view kTrainingTitle = "Training";  // of the pass that trains

// How far a pass over batches has come.
struct PassState {
  std::string title;   // "Epoch 3/20"
  uint64_t total = 0;  // batches
  uint64_t first = 0;  // where it began: a resumed pass has done these before
  uint64_t done = 0;   // those before `first` included
  double elapsed_seconds = 0;
  std::optional<double> loss;
  std::optional<double> run_seconds_left;  // of the whole run

  // Batches per second of this pass; 0 before the first.
  double rate() const;
  double seconds_left() const;  // of this pass; 0 = unknown
};

// "Epoch 3/20:  42%|████▏     | 3961/9432 [01:04<01:28, 61.70it/s, loss=1.68], run 2:03:04 left",
// and less of it if it must fit into `columns`; 0 = any number.
std::string format_pass(const PassState& state, size_t columns = 0);

// The epoch that is trained, and what is known of earlier ones.
struct EpochPlace {
  uint64_t epoch = 0;  // from 1
  uint64_t epochs = 0;
  double epoch_seconds = 0;  // of an earlier one with its evaluation; 0 = unknown
};

// The time until the last epoch has ended, `elapsed` seconds after this one began; nothing if it is
// unknown. Before the first epoch has ended, evaluations are not counted.
std::optional<double> run_seconds_left(const EpochPlace& place, const PassState& pass,
                                       double elapsed_seconds);

struct EpochLine {
  uint64_t epoch = 0;  // from 1
  double loss = 0;
  std::optional<double> valid_accuracy;  // none in epochs without evaluation
  std::optional<double> test_accuracy;
  double seconds = 0;
  bool best = false;  // so far
};

// "Epoch 001 | Loss: 1.6800 | Val: 0.5012 | Test: 0.4987 | Time: 186s *", where * marks the best
// so far (on terminals only: scripts get the line without it). In fewer columns: "Epoch 001
// loss 1.6800  val 0.5012 *".
std::string format_epoch(const EpochLine& line, size_t columns = 0);

// One run's report, for one thread. A closed pipe does not end the run.
class TrainReport {
 public:
  explicit TrainReport(bool bars) : bars_(bars) {}
  ~TrainReport() { end_pass(); }
  TrainReport(const TrainReport&) = delete;
  TrainReport& operator=(const TrainReport&) = delete;

  // Bars are for terminals that can redraw a line, unless the user wants it quiet.
  static bool wants_bars(bool quiet);

  // The passes that follow belong to this epoch, until end_epochs().
  void begin_epoch(const EpochPlace& place);
  void end_epochs() { place_.reset(); }

  // Ends the pass before, if any.
  void begin_pass(std::string_view title, uint64_t total_batches, uint64_t first_batch);
  // Batches done so far, those before first_batch included. Cheap enough for every batch.
  void advance(uint64_t done, std::optional<double> loss = std::nullopt);
  // Removes the bar.
  void end_pass();

  void epoch(const EpochLine& line);
  // A line for people, on stderr.
  void note(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  const bool bars_;
  bool in_pass_ = false;
  std::optional<EpochPlace> place_;
  Clock::time_point epoch_start_;
  PassState state_;
  Clock::time_point start_;
  Clock::time_point next_draw_;
};

}  // namespace plimsoll::train
