// Drives a batch to its end: one experiment after the other, or several at once, each attempt under
// `plimsoll exec`, and everything recorded in the journal before and after. Experiments start in
// the order of the queue, and what is decided about them does not depend on how many run at once.
// The driver forks. While trainings run, the only other threads are those of the energy recorders;
// recorder.h says why that is safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "energy/recorder.h"
#include "experiment/background_load.h"
#include "experiment/batch.h"
#include "experiment/best.h"
#include "experiment/early_stopping.h"
#include "experiment/expected_time.h"
#include "experiment/journal.h"
#include "experiment/judging.h"
#include "experiment/machine.h"
#include "experiment/outputs.h"
#include "experiment/progress.h"
#include "experiment/record.h"
#include "gate/policy.h"
#include "process/signal_inbox.h"
#include "slurm/job.h"

namespace plimsoll::experiment {

// A place where one attempt runs at a time.
struct AttemptPlace {
  gate::GpuSelection gpus;             // of its attempts
  energy::Recorder* energy = nullptr;  // measures every attempt; may be null
};

struct DriverOptions {
  std::filesystem::path folder;  // of the run, absolute
  bool keep_going = false;
  std::vector<AttemptPlace> places;  // each runs one attempt at a time
  double gpu_wait_seconds = 600;
  // The limit of all attempts together. An attempt without its own limit gets an equal share.
  std::optional<uint64_t> memory_bytes;
  std::optional<slurm::SlurmSteps> steps;  // each attempt is a step of this Slurm job
  // Whether a GPU that one of these processes holds is computing; may be empty.
  std::function<bool(const std::vector<pid_t>&)> uses_gpu;
  // The state of the selected GPUs, for the cooldown; may be empty.
  std::function<std::vector<meter::GpuReading>(const gate::GpuSelection&)> read_gpus;
  Durations earlier;                            // for the expected times
  std::function<void(const std::string&)> say;  // prints a line for the user
  // An experiment has finished; may be empty.
  std::function<void(const Experiment&, const ExperimentResult&)> finished;
  std::function<void(const BatchProgress&)> show;  // shows the progress, repeatedly; may be empty
};

constexpr const char* kTrainingLog = "training.log";  // in the folders of attempts and experiments

struct DriverEnd {
  size_t succeeded = 0;
  size_t stopped = 0;  // early, because others were better
  size_t failed = 0;
  size_t left = 0;
  int signal = 0;      // the signal that asked us to stop; 0: none
  std::string paused;  // the cause of too many failures in a row

  size_t finished() const { return succeeded + stopped + failed; }
};

// Makes all failed experiments run again, with the same values and ids. Their earlier attempts stay
// in the journal but no longer count. Returns the number of experiments.
size_t reopen_failed(Journal& journal);

class Driver {
 public:
  Driver(const DriverOptions& options, const BatchTexts& texts, const ExperimentBatch& batch,
         Journal& journal);
  DriverEnd run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Standing {                       // the state of one experiment
    std::vector<AttemptResult> attempts;  // cleared when it is finished: the journal has them
    bool finished = false;
    size_t last_number = 0;
  };
  // An attempt that runs now. The load is ended after the training.
  struct Running {
    const Experiment& experiment;
    size_t number = 0;
    std::filesystem::path folder;
    AttemptResult result;
    uint64_t memory_bytes = 0;
    Clock::time_point began;
    std::unique_ptr<BackgroundLoad> beside;
    std::unique_ptr<SupervisedChild> child;
    std::unique_ptr<LogFollower> log;  // null without an objective
    bool stopping = false;             // early
    std::string background_failed;     // why its background load was not valid
  };
  struct Place {
    AttemptPlace with;
    std::unique_ptr<Running> running;             // null: free
    std::optional<Clock::time_point> free_since;  // nothing before the first attempt
  };

  void recall();
  void start_what_fits();
  bool may_start(const Experiment& experiment) const;
  bool is_cool(Place& place);
  const Experiment* upcoming();
  void begin(Place& place, const Experiment& experiment);
  void begin_attempt(Place& place, const Experiment& experiment, const Values& values);
  void wait();
  void look(Running& running);
  void conclude(Place& place);
  static void measure(Place& place, const ChildEnd& end, AttemptResult& result);
  void judge(const Running& running, const ChildEnd& end, AttemptResult& result) const;
  void stop_early(const Experiment& experiment, const StopRecord& stop,
                  const std::filesystem::path& folder, AttemptResult& result) const;
  void after_last_attempt(const Experiment& experiment);
  void settle_pending();
  Retry next_move(const Experiment& experiment) const;
  void finish(const Experiment& experiment);
  void count_failure(const ExperimentResult& result);
  void link_last(const Experiment& experiment, size_t number) const;
  void count(const Experiment& experiment, const ExperimentResult& result);
  void flag_short_ones();
  void mend_outputs() const;
  void take_signals();
  void show_progress();
  RunningNow running_now(const Running& running, Clock::time_point now) const;
  size_t running_count() const;
  Terms terms_of(const Experiment& experiment) const;
  void ask_for_room(const Experiment& experiment, Terms& terms) const;
  std::unique_ptr<BackgroundLoad> start_load(const Experiment& experiment,
                                             const AttemptPlace& place,
                                             const std::filesystem::path& folder) const;
  ChildOptions child_options(const Load& load, const AttemptPlace& place, const Values& values,
                             const std::filesystem::path& output) const;

  const DriverOptions& options_;
  const BatchTexts& source_;
  const ExperimentBatch& batch_;
  Journal& journal_;
  SummaryTable summary_;
  EarlyStopping stopping_;
  process::SignalInbox signals_;
  std::vector<Place> places_;
  std::map<size_t, Standing> standing_;            // by experiment number
  std::set<size_t> pending_;                       // ended, but early stopping has not decided yet
  std::map<size_t, std::vector<double>> seconds_;  // of successful experiments, by entry
  ExpectedTimes expected_;
  BestSoFar best_;
  size_t total_;     // experiments that count
  size_t next_ = 0;  // the first experiment of the queue that was not begun
  DriverEnd end_;
  Clock::time_point shown_;
  std::vector<GpuCalm> calm_;  // the GPUs when the batch began; empty without a cooldown
  bool stop_now_ = false;
  Cause last_cause_ = Cause::success;
  unsigned same_cause_ = 0;
};

}  // namespace plimsoll::experiment
