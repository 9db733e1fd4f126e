// The energy of one run, as values. Every figure has its source, the share of the run that it
// covers, and its quality. An unknown figure has no number; it is never 0.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::energy {

enum class Quality {
  exclusive,    // no other process used the package or the GPU
  shared,       // others used it too: the figure includes them
  unavailable,  // there is no figure
};
std::string name(Quality quality);
Quality quality_of(const std::string& name);

struct Figure {
  std::optional<double> joules;
  std::optional<double> net_joules;  // without the idle power of the machine; needs a baseline
  std::string source;                // "powercap", "perf", "nvml_counter", "nvml_power", ...
  double coverage = 0;               // share of the run that it covers, 0 to 1
  Quality quality = Quality::unavailable;
  std::string reason;  // why it is shared or unavailable
};

// A figure without a number.
Figure unavailable(const std::string& because);

// Statistics over the time in which a quantity was sampled.
struct Range {
  std::optional<double> mean, smallest, largest;
};

struct GpuFigures {
  unsigned index = 0;
  std::string uuid;
  std::string name;
  Figure energy;    // `counter` if it covers the run, otherwise `integral`
  Figure counter;   // from the GPU's energy counter
  Figure integral;  // of sampled power over time
  unsigned counter_resets = 0;
  uint64_t samples = 0;  // of power
  Range watts, celsius, percent;
};

struct CpuFigures {
  Figure package;
  Figure memory;
  Figure total;
  std::optional<double> own_seconds;    // CPU time of the run's processes
  std::optional<double> other_seconds;  // CPU time of all other processes meanwhile
};

struct EnergyReport {
  double seconds = 0;  // of the run, as measured
  CpuFigures cpu;
  std::vector<GpuFigures> gpus;
  std::string no_gpus_because;  // the reason, if `gpus` is empty
  Figure all_gpus;              // the sum over all GPUs
  Range all_watts;              // of the sum at each moment
  Range all_celsius;            // mean over all GPUs, and the hottest
  Range all_percent;
  double sampling_cpu_seconds = 0;  // CPU time of the measurement itself
};

// The difference between counter and integral, as a share of the counter; nothing without both.
std::optional<double> disagreement(const GpuFigures& gpu);
constexpr double kDisagreement = 0.05;  // a larger difference is reported

// The sum of figures of the same run; known only if all of them are.
Figure sum_of(const std::vector<Figure>& figures);

// A report as JSON, for journals and result files. A missing number is null.
nlohmann::ordered_json to_json(const EnergyReport& report);
EnergyReport report_from(const nlohmann::ordered_json& json);

nlohmann::ordered_json json_of(const std::optional<double>& number);
std::optional<double> number_in(const nlohmann::ordered_json& json, const std::string& key);

}  // namespace plimsoll::energy
