// How far a batch is and what it does now: what `run` shows while it works, and `status` from
// another terminal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/expected_time.h"
#include "meter/gpu.h"

namespace plimsoll::experiment {

struct RunningNow {
  std::string experiment;  // its folder
  size_t attempt = 1;
  std::string values;
  std::string last_line;  // of its log
  double seconds = 0;
  std::optional<double> expected_seconds;
};

struct BatchProgress {
  std::optional<RunningNow> running;
  size_t succeeded = 0;
  size_t failed = 0;
  size_t left = 0;  // the running one included
  TimeLeft time_left;
};

// The machine at this moment.
struct MachineNow {
  std::vector<meter::GpuReading> gpus;
  uint64_t ram_used_bytes = 0;
  uint64_t ram_total_bytes = 0;
};

// Of the GPUs those that `gpus` names, as exec's --gpu. Used by one thread.
class MachineWatch {
 public:
  explicit MachineWatch(std::string gpus) : gpus_(std::move(gpus)) {}
  MachineNow read();

  // Whether one of them computes that one of these processes holds. True where the driver does not
  // say how busy it is: nobody is accused on a guess.
  bool compute_for(const std::vector<pid_t>& processes);

 private:
  std::vector<meter::GpuReading> gpus(bool with_holders);

  std::string gpus_;
  bool opened_ = false;
  meter::GpuAccess access_;
};

// A few lines, the same number as long as something runs.
std::vector<std::string> lines_of(const BatchProgress& progress, const MachineNow& machine);

// "12 succeeded, 1 failed, 7 left; about 5 min 20 s to go"
std::string describe_counts(const BatchProgress& progress);

// What is left of the running experiment's time counts, not all of it.
TimeLeft time_left(const std::vector<const Experiment*>& waiting,
                   const std::optional<RunningNow>& running, const ExpectedTimes& expected);

// The last line with anything in it, without what would move a cursor or change a colour; of a
// progress bar, its last state.
std::string last_line(const std::filesystem::path& log);
std::string last_line_of(std::string_view text);

}  // namespace plimsoll::experiment
