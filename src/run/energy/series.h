// A quantity sampled over time: its integral, and a CSV file of the samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::energy {

// The integral of a sampled quantity over time: trapezoids between the real timestamps, so a late
// sample counts with its true duration. For watts it yields joules; for degrees it yields a mean
// weighted by time.
class Integral {
 public:
  // A gap between samples longer than this counts neither as area nor as covered time.
  explicit Integral(double most_gap_seconds) : most_gap_seconds_(most_gap_seconds) {}

  // `at`: seconds of a monotonic clock.
  void add(double at, double value);

  double area() const { return area_; }
  double covered_seconds() const { return covered_seconds_; }
  // Over the covered time. If no time is covered: the last sample, or nothing without samples.
  std::optional<double> mean() const;
  std::optional<double> smallest() const { return smallest_; }
  std::optional<double> largest() const { return largest_; }
  uint64_t samples() const { return samples_; }

 private:
  double most_gap_seconds_;
  double area_ = 0;
  double covered_seconds_ = 0;
  double last_at_ = 0;
  double last_value_ = 0;
  uint64_t samples_ = 0;
  std::optional<double> smallest_;
  std::optional<double> largest_;
};

// A CSV file of samples, written as they arrive: one line per moment, one column per GPU.
//
// One GPU:      timestamp,power_draw_w
// Several GPUs: timestamp,power_draw_w,gpu0_power_draw_w,gpu1_power_draw_w
//
// The first columns cover all GPUs together: their sum, maximum or mean, empty if one of them did
// not answer. A moment in which no GPU answered has no line.
class Series {
 public:
  enum class Together { sum, largest, mean };
  struct Column {
    std::string name;
    Together together = Together::sum;
  };
  using Values = std::vector<std::optional<double>>;

  // `gpus`: their indices. With an empty path nothing is written.
  Series(std::filesystem::path file, std::vector<Column> columns,
         const std::vector<unsigned>& gpus);

  // `values`: for each column, one value per GPU.
  void add(double seconds_since_epoch, const std::vector<Values>& values);
  // Flushes the file; returns an error message, or an empty string if everything was written.
  std::string close();

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
  std::vector<Column> columns_;
};

// Combines the values of all GPUs; nothing if one is missing.
std::optional<double> combined(const Series::Values& values, Series::Together how);

}  // namespace plimsoll::energy
