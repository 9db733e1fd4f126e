// Whether the training beside an experiment is a load: it uses CPU, or a GPU that it holds
// computes. Pure: over readings and a clock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "process/proc_stat.h"

namespace plimsoll::experiment {

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

}  // namespace plimsoll::experiment
