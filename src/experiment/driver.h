// Drives a batch to its end: one experiment after the other, each attempt under exec, everything in
// the journal before and after it. Has one thread, for it forks; beside it, while a training runs,
// that of the energy recorder (which says why that is safe).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "energy/recorder.h"
#include "experiment/background_load.h"
#include "experiment/batch.h"
#include "experiment/journal.h"
#include "experiment/outputs.h"
#include "experiment/record.h"
#include "experiment/retry.h"
#include "process/signal_inbox.h"

namespace plimsoll::experiment {

struct DriverOptions {
  std::filesystem::path folder;  // of the run, absolute
  bool keep_going = false;
  std::string gpus;  // as exec's --gpu; empty: none of our business
  double gpu_wait_seconds = 600;
  energy::Recorder* energy = nullptr;            // measures every attempt
  std::function<void(const std::string&)> say;   // a line for people
  std::function<void(const std::string&)> show;  // what runs now, again and again
};

struct DriverEnd {
  size_t succeeded = 0;
  size_t failed = 0;
  size_t left = 0;
  int signal = 0;      // that asked us to stop
  std::string paused;  // the cause of too many failures in a row
};

class Driver {
 public:
  Driver(const DriverOptions& options, const Source& source, const Batch& batch, Journal& journal);
  DriverEnd run();

 private:
  struct Standing {  // of one experiment
    std::vector<AttemptResult> attempts;
    std::optional<ExperimentResult> result;
    size_t last_number = 0;
  };
  void recall();
  void run_experiment(const Experiment& experiment);
  AttemptResult attempt(const Experiment& experiment, const Values& values, size_t number);
  void watch(const Experiment& experiment, SupervisedChild& child, BackgroundLoad* beside);
  void take_signals(const SupervisedChild& child);
  void judge(const Experiment& experiment, const ChildEnd& end, const std::filesystem::path& folder,
             AttemptResult& result) const;
  Retry next_move(const Experiment& experiment) const;
  void finish(const Experiment& experiment);
  void count_failure(const ExperimentResult& result);
  void link_last(const Experiment& experiment, size_t number) const;
  void show_progress(const Experiment& experiment, double seconds) const;
  Terms terms_of(const Experiment& experiment) const;
  ChildOptions child_options(const Load& load, const Terms& terms, const Values& values,
                             const std::filesystem::path& output) const;
  std::vector<double> other_durations(const Experiment& experiment) const;

  const DriverOptions& options_;
  const Source& source_;
  const Batch& batch_;
  Journal& journal_;
  Summary summary_;
  process::SignalInbox signals_;
  std::map<size_t, Standing> standing_;  // by the experiments' numbers
  DriverEnd end_;
  bool stop_now_ = false;
  bool background_failed_ = false;
  std::string last_cause_;
  unsigned same_cause_ = 0;
};

}  // namespace plimsoll::experiment
