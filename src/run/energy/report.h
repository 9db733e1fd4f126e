// What one run took, as values: every figure says where it comes from, how much of the run it
// covers and how far it can be trusted. A figure that is not known has no number: never 0.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::energy {

enum class Quality {
  exclusive,    // nobody else was on the package or the GPU
  shared,       // others were: the figure is of all of them together
  unavailable,  // there is no figure
};
std::string name(Quality quality);
Quality quality_of(const std::string& name);

struct Figure {
  std::optional<double> joules;
  std::optional<double> net_joules;  // less what the machine takes when idle; with a baseline
  std::string source;                // "powercap", "perf", "nvml_counter", "nvml_power", ...
  double coverage = 0;               // share of the run that it stands for
  Quality quality = Quality::unavailable;
  std::string reason;  // why it is shared or unavailable
};

// Makes `figure` one without a number.
Figure unavailable(const std::string& because);

// Over the time in which it was sampled.
struct Range {
  std::optional<double> mean, smallest, largest;
};

struct GpuFigures {
  unsigned index = 0;
  std::string uuid;
  std::string name;
  Figure energy;    // the counter's where that covers the run, else the integral
  Figure counter;   // as the GPU counts
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
  std::optional<double> other_seconds;  // of everybody else meanwhile
};

struct EnergyReport {
  double seconds = 0;  // of the run, as measured
  CpuFigures cpu;
  std::vector<GpuFigures> gpus;
  std::string no_gpus_because;  // where there are none
  Figure all_gpus;              // their sum; one GPU: itself
  Range all_watts;              // of the sum at each moment
  Range all_celsius;            // mean of all, and the hottest
  Range all_percent;
  double sampling_cpu_seconds = 0;  // what the measuring itself took
};

// By how much counter and integral differ, as a share of the counter; nothing without both.
std::optional<double> disagreement(const GpuFigures& gpu);
constexpr double kDisagreement = 0.05;  // from here on it is said

// The sum of figures that cover the same run: known where all of them are.
Figure sum_of(const std::vector<Figure>& figures);

// A report as JSON, for journals and result files: null where there is no number.

nlohmann::ordered_json to_json(const EnergyReport& report);
EnergyReport report_from(const nlohmann::ordered_json& json);

nlohmann::ordered_json json_of(const std::optional<double>& number);
std::optional<double> number_in(const nlohmann::ordered_json& json, const std::string& key);

}  // namespace plimsoll::energy
