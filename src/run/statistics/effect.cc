#include "statistics/effect.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "statistics/sample.h"

namespace plimsoll::statistics {

double pooled_deviation(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  double degrees = 0;
  for (const auto sample : {a, b}) {
    const Moments moments = moments_of(sample);
    if (!moments.deviation) continue;
    const auto freedom = static_cast<double>(sample.size() - 1);
    squares += freedom * *moments.deviation * *moments.deviation;
    degrees += freedom;
  }
  return degrees == 0 ? 0 : std::sqrt(squares / degrees);
}

std::optional<double> hedges_g(std::span<const double> a, std::span<const double> b) {
  const double deviation = pooled_deviation(a, b);
  if (a.size() < 2 || b.size() < 2 || deviation == 0) return std::nullopt;
  const auto degrees = static_cast<double>(a.size() + b.size() - 2);
  const double correction =
      std::exp(std::lgamma(degrees / 2) - std::lgamma((degrees - 1) / 2)) / std::sqrt(degrees / 2);
  return correction * (moments_of(a).mean - moments_of(b).mean) / deviation;
}

double rank_biserial(double u, size_t a, size_t b) {
  return 2 * u / (static_cast<double>(a) * static_cast<double>(b)) - 1;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

}  // namespace plimsoll::statistics
