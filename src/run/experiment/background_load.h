// The training that runs beside another one: started again when it ends, watched, and gone when
// this goes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/load_watch.h"
#include "experiment/supervised_child.h"

namespace plimsoll::experiment {

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
