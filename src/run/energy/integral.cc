#include "energy/integral.h"

#include <algorithm>

namespace plimsoll::energy {

void Integral::add(double at, double value) {
  const double gap = at - last_at_;
  if (samples_ > 0 && gap <= most_gap_seconds_) {
    area_ += gap * (last_value_ + value) / 2;
    covered_seconds_ += gap;
  }
  last_at_ = at;
  last_value_ = value;
  ++samples_;
  smallest_ = std::min(smallest_.value_or(value), value);
  largest_ = std::max(largest_.value_or(value), value);
}

std::optional<double> Integral::mean() const {
  if (covered_seconds_ > 0) return area_ / covered_seconds_;
  return samples_ > 0 ? std::optional(last_value_) : std::nullopt;
}

}  // namespace plimsoll::energy
