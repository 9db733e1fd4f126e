// Drives a batch to its end: one experiment after the other, each attempt under `plimsoll exec`,
// and everything recorded in the journal before and after. The driver forks. While a training runs,
// the only other thread is the energy recorder's; recorder.h says why that is safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "energy/recorder.h"
#include "experiment/background_load.h"
#include "experiment/batch.h"
#include "experiment/expected_time.h"
#include "experiment/journal.h"
#include "experiment/judging.h"
#include "experiment/outputs.h"
#include "experiment/progress.h"
#include "experiment/record.h"
#include "process/signal_inbox.h"

namespace plimsoll::experiment {

struct DriverOptions {
  std::filesystem::path folder;  // of the run, absolute
  bool keep_going = false;
  std::string gpus;  // like exec's --gpu; empty: leave the GPUs alone
  double gpu_wait_seconds = 600;
  // Whether a GPU computes that one of these processes holds; may be empty.
  std::function<bool(const std::vector<pid_t>&)> uses_gpu;
  Durations earlier;                               // for the expected times
  energy::Recorder* energy = nullptr;              // measures every attempt; may be null
  std::function<void(const std::string&)> say;     // prints a line for the user
  std::function<void(const BatchProgress&)> show;  // shows the progress, repeatedly; may be empty
};

struct DriverEnd {
  size_t succeeded = 0;
  size_t failed = 0;
  size_t left = 0;
  int signal = 0;      // the signal that asked us to stop; 0: none
  std::string paused;  // the cause of too many failures in a row
};

// Makes all failed experiments run again, with the same values and ids. Their earlier attempts stay
// in the journal but no longer count. Returns the number of experiments.
size_t reopen_failed(Journal& journal);

class Driver {
 public:
  Driver(const DriverOptions& options, const BatchTexts& source, const ExperimentBatch& batch,
         Journal& journal);
  DriverEnd run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Standing {                       // the state of one experiment
    std::vector<AttemptResult> attempts;  // cleared when it is finished: the journal has them
    bool finished = false;
    size_t last_number = 0;
  };
  void recall();
  void run_experiment(const Experiment& experiment);
  AttemptResult attempt(const Experiment& experiment, const Values& values, size_t number);
  void watch(const Experiment& experiment, SupervisedChild& child, BackgroundLoad* beside);
  void take_signals(const SupervisedChild* child);
  void judge(const Experiment& experiment, const ChildEnd& end, const std::filesystem::path& folder,
             AttemptResult& result) const;
  Retry next_move(const Experiment& experiment) const;
  void finish(const Experiment& experiment);
  void count_failure(const ExperimentResult& result);
  void link_last(const Experiment& experiment, size_t number) const;
  void count(const Experiment& experiment, const ExperimentResult& result);
  void flag_short_ones();
  void mend_outputs() const;
  BatchProgress progress(const Experiment& running, double seconds) const;
  Terms terms_of(const Experiment& experiment) const;
  void ask_for_room(const Experiment& experiment, Terms& terms) const;
  std::unique_ptr<BackgroundLoad> start_load(const Experiment& experiment,
                                             const std::filesystem::path& folder) const;
  ChildOptions child_options(const Load& load, const Terms& terms, const Values& values,
                             const std::filesystem::path& output) const;

  const DriverOptions& options_;
  const BatchTexts& source_;
  const ExperimentBatch& batch_;
  Journal& journal_;
  SummaryTable summary_;
  process::SignalInbox signals_;
  std::map<size_t, Standing> standing_;            // by experiment number
  std::map<size_t, std::vector<double>> seconds_;  // of successful experiments, by entry
  ExpectedTimes expected_;
  size_t total_;  // experiments that count
  DriverEnd end_;
  Clock::time_point shown_;
  Values running_values_;  // of the current attempt
  bool stop_now_ = false;
  std::string background_failed_;  // why the attempt's background load was not valid
  Cause last_cause_ = Cause::success;
  unsigned same_cause_ = 0;
};

}  // namespace plimsoll::experiment
