// A training that runs beside an experiment as its background load. It is restarted whenever it
// ends, and watched: a load that does no work would make the experiment worthless.
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

constexpr double kIdleCpuShare = 0.02;  // of one CPU: a training that computes uses far more

// The CPU time of a process tree, sampled from time to time. CPU time between the last sample of a
// process and its end is missed.
class TreeCpu {
 public:
  // Seconds used since the previous call.
  double look(const std::vector<process::ProcessStat>& processes);

 private:
  using Who = std::pair<pid_t, uint64_t>;  // pid and start time
  std::map<Who, uint64_t> ticks_;
};

// Decides whether a training is a load: it uses CPU, or a GPU that it holds computes. Pure: it
// works on readings and a clock.
class LoadWatch {
 public:
  explicit LoadWatch(double window_seconds) : window_seconds_(window_seconds) {}

  struct Use {
    double cpu_seconds = 0;  // since the previous reading
    bool gpu = false;
  };
  struct Window {
    double seconds = 0;
    double cpu_seconds = 0;
    bool gpu = false;
    bool is_load() const { return gpu || cpu_seconds >= kIdleCpuShare * seconds; }
  };
  // Returns the window if it ends with this reading, otherwise nothing.
  std::optional<Window> add(double now_seconds, Use use);

  // Whether the CPU use so far does not prove a load. Only then the GPUs must be read.
  bool in_doubt(double now_seconds) const;
  bool gpu_seen() const { return gpu_seen_; }

 private:
  double window_seconds_;
  std::optional<double> began_;
  Window now_;
  bool gpu_seen_ = false;
};

struct BackgroundOptions {
  ChildOptions child;                 // each run gets its own folder in this output folder
  std::optional<uint64_t> most_runs;  // afterwards the experiment continues alone
  double idle_seconds = 30;           // so long without CPU and GPU use, it is not a load
  // Whether a GPU computes that one of these processes holds; may be empty.
  std::function<bool(const std::vector<pid_t>&)> uses_gpu;
};

// Runs the load, restarts it when it ends, and watches it. The destructor ends it.
class BackgroundLoad {
 public:
  explicit BackgroundLoad(BackgroundOptions options);

  // Call it often. Restarts the load if it has ended; returns a message if something is wrong.
  std::optional<std::string> look();

  // True when it was not a load three times in a row.
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

// Why a run that has ended was not a load; nothing if it was one. Pure.
std::optional<std::string> invalid_because(const ChildEnd& end, bool gpu_seen);

}  // namespace plimsoll::experiment
