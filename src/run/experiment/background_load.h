// A training that runs beside an experiment as its background load: started again and again, and
// watched, because a load that does no work would make the experiment worthless.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/supervised_child.h"
#include "process/proc_stat.h"

namespace plimsoll::experiment {

// Whether the training beside an experiment is a load: it uses CPU, or a GPU that it holds
// computes. Pure: over readings and a clock.

constexpr double kIdleCpuShare = 0.02;  // of one CPU: a training that computes uses far more

// The CPU time of a tree, by looking at its processes from time to time. What a process uses
// between the last look and its end is missed.
class TreeCpu {
 public:
  // Seconds used since the look before.
  double look(const std::vector<process::ProcessStat>& processes);

 private:
  using Who = std::pair<pid_t, uint64_t>;  // pid and start
  std::map<Who, uint64_t> ticks_;
};

class LoadWatch {
 public:
  explicit LoadWatch(double window_seconds) : window_seconds_(window_seconds) {}

  struct Use {
    double cpu_seconds = 0;  // since the reading before
    bool gpu = false;
  };
  struct Window {
    double seconds = 0;
    double cpu_seconds = 0;
    bool gpu = false;
    bool is_load() const { return gpu || cpu_seconds >= kIdleCpuShare * seconds; }
  };
  // The window that ended with this reading; nothing before its end.
  std::optional<Window> add(double now_seconds, Use use);

  // Whether the CPU alone has not shown it yet: only then the GPUs need to be asked.
  bool in_doubt(double now_seconds) const;
  bool gpu_seen() const { return gpu_seen_; }

 private:
  double window_seconds_;
  std::optional<double> began_;
  Window now_;
  bool gpu_seen_ = false;
};

// The training that runs beside another one: started again when it ends, watched, and gone when
// this goes.

struct BackgroundOptions {
  ChildOptions child;                 // each run gets a folder of its own in its output folder
  std::optional<uint64_t> most_runs;  // then the other one goes on alone
  double idle_seconds = 30;           // without any use of CPU and GPU, it is no load
  // Whether a GPU that one of these processes holds computes; may be empty.
  std::function<bool(const std::vector<pid_t>&)> uses_gpu;
};

class BackgroundLoad {
 public:
  explicit BackgroundLoad(BackgroundOptions options);

  // To be called often. Starts it again where it has ended; says what is wrong with it.
  std::optional<std::string> look();

  // After three times in a row that it was no load.
  bool invalid() const { return times_invalid_ >= kMostTimesInvalid; }
  const std::string& reason() const { return reason_; }
  size_t runs() const { return runs_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kMostTimesInvalid = 3;
  void start();
  std::optional<std::string> after_end();
  std::optional<std::string> watch();
  std::string invalid_because(std::string reason);

  BackgroundOptions options_;
  std::unique_ptr<SupervisedChild> child_;
  Clock::time_point next_reading_;
  TreeCpu cpu_;
  LoadWatch use_;
  size_t runs_ = 0;
  unsigned times_invalid_ = 0;
  std::string reason_;
};

// Why a run that ended was no load; nothing where it was one. Pure.
std::optional<std::string> invalid_because(const ChildEnd& end, bool gpu_seen);

}  // namespace plimsoll::experiment
