// How far a batch is and what it does now: what `run` shows while it works, and `status` from
// another terminal. Values and their text; nothing here looks at a machine but last_line().
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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
