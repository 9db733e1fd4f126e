// The integral of a sampled quantity over time, by trapezoids between real timestamps: a sample is
// worth the time it stands for, never "one second", however late it came.
#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll::energy {

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

}  // namespace plimsoll::energy
