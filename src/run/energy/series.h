// A quantity over time: its integral, and its course in a CSV file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::energy {

// The integral of a sampled quantity over time, by trapezoids between real timestamps: a sample is
// worth the time it stands for, never "one second", however late it came.

// Watts in, joules out; or degrees in, for a mean that is weighted by time.
class Integral {
 public:
  // Between samples further apart than this nothing is known: neither area nor coverage.
  explicit Integral(double most_gap_seconds) : most_gap_seconds_(most_gap_seconds) {}

  // `at`: seconds of a clock that never goes backwards.
  void add(double at, double value);

  double area() const { return area_; }
  double covered_seconds() const { return covered_seconds_; }
  // Over the covered time; where there is none, the last sample, if there is one.
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

// A series of samples, written as it comes: a line for each moment, a column for each GPU.

// One GPU:      timestamp,power_draw_w
// Several GPUs: timestamp,power_draw_w,gpu0_power_draw_w,gpu1_power_draw_w
// so that whoever reads the first columns reads all GPUs together: their sum, maximum or mean,
// empty where one of them did not answer. A moment in which none did has no line.
class Series {
 public:
  enum class Together { sum, largest, mean };
  struct Column {
    std::string name;
    Together together = Together::sum;
  };
  using Values = std::vector<std::optional<double>>;

  // `gpus`: their indices. Without a file, nothing is written.
  Series(std::filesystem::path file, std::vector<Column> columns,
         const std::vector<unsigned>& gpus);

  // `values`: for each column, one of each GPU.
  void add(double seconds_since_epoch, const std::vector<Values>& values);
  // Empty while everything could be written.
  std::string close();

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
  std::vector<Column> columns_;
};

// Nothing where one of them is missing.
std::optional<double> together(const Series::Values& values, Series::Together how);

}  // namespace plimsoll::energy
