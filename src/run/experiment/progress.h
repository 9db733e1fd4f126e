// The progress of a batch: `plimsoll run` shows it while it works, `plimsoll status` shows it from
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
  // The rest, from experiments that took longer than this one has so far; nothing if none did.
  std::optional<double> expected_rest;
};

struct BatchProgress {
  std::optional<RunningNow> running;  // of several, the one that began first
  std::vector<RunningNow> beside;     // the others
  size_t succeeded = 0;
  size_t failed = 0;
  size_t left = 0;  // including the running one
  TimeLeft time_left;
  std::string best;    // the best configuration so far; empty before the first success
  size_t stopped = 0;  // early, by the batch
};

// The machine's current use.
struct MachineNow {
  std::vector<meter::GpuReading> gpus;
  uint64_t ram_used_bytes = 0;
  uint64_t ram_total_bytes = 0;
};

// Reads the machine's use; of the GPUs, those that `gpus` names, like exec's --gpu. For one thread.
class MachineWatch {
 public:
  explicit MachineWatch(std::string gpus) : gpus_(std::move(gpus)) {}
  MachineNow read();

  // Whether a GPU that one of these processes holds computes. If the driver does not report
  // utilisation, the GPU counts as busy: a load is not declared invalid without proof.
  bool compute_for(const std::vector<pid_t>& processes);

 private:
  std::vector<meter::GpuReading> gpus(bool with_holders);

  std::string gpus_;
  bool opened_ = false;
  meter::GpuAccess access_;
};

// The live display: a few lines, always the same number while something runs.
std::vector<std::string> lines_of(const BatchProgress& progress, const MachineNow& machine);

// "12 succeeded, 1 failed, 7 left; time left: about 5 min 20 s"
std::string describe_counts(const BatchProgress& progress);

// The expected time for the waiting experiments and the rest of the running ones, one after the
// other.
TimeLeft time_left(const std::vector<const Experiment*>& waiting,
                   const std::vector<RunningNow>& running, const ExpectedTimes& expected);

// The last non-empty line, without control sequences for cursor and colours; for a progress bar,
// its last state.
std::string last_line(const std::filesystem::path& log);
std::string last_line_of(std::string_view text);

// Two indented lines for a failed experiment, with a newline before each: the last line of its log
// and the path of the log. The line is left out if `headline` contains it. Empty if there is no
// log.
std::string describe_log(const std::filesystem::path& log, std::string_view headline = "");

}  // namespace plimsoll::experiment
