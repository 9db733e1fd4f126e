#include "statistics/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "statistics/distribution.h"
#include "statistics/sample.h"

namespace plimsoll::statistics {
namespace {

constexpr double kLevel = 0.95;
constexpr double kWantedPower = 0.8;
constexpr size_t kMostRepeats = 1'000'000;

}  // namespace

std::optional<WelchTest> welch_test(std::span<const double> a, std::span<const double> b) {
  const Moments first = moments_of(a);
  const Moments second = moments_of(b);
  if (!first.deviation || !second.deviation) return std::nullopt;
  const double one = *first.deviation * *first.deviation / static_cast<double>(a.size());
  const double two = *second.deviation * *second.deviation / static_cast<double>(b.size());
  if (one + two == 0) return std::nullopt;
  WelchTest test{.difference = first.mean - second.mean};
  const double error = std::sqrt(one + two);
  test.t = test.difference / error;
  test.degrees = (one + two) * (one + two) /
                 (one * one / static_cast<double>(a.size() - 1) +
                  two * two / static_cast<double>(b.size() - 1));
  test.p = student_two_sided(test.t, test.degrees);
  const double margin = student_quantile((1 + kLevel) / 2, test.degrees) * error;
  test.interval = {
      .low = test.difference - margin, .high = test.difference + margin, .level = kLevel};
  return test;
}

double power_of(double difference, double deviation, size_t repeats, double level) {
  const double degrees = 2 * static_cast<double>(repeats) - 2;
  const double shift =
      std::abs(difference) / deviation * std::sqrt(static_cast<double>(repeats) / 2);
  constexpr double kCertain = 30;  // standard errors
  if (shift > kCertain) return 1;
  const double critical = student_quantile(1 - level / 2, degrees);
  return 1 - noncentral_student_cdf(critical, degrees, shift) +
         noncentral_student_cdf(-critical, degrees, shift);
}

std::optional<size_t> repeats_for(double difference, double deviation, double level) {
  if (difference == 0 || deviation == 0) return std::nullopt;
  size_t low = 1;  // too few
  size_t high = 2;
  while (power_of(difference, deviation, high, level) < kWantedPower) {
    low = high;
    high *= 2;
    if (high > kMostRepeats) return std::nullopt;
  }
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (power_of(difference, deviation, middle, level) < kWantedPower ? low : high) = middle;
  }
  return high;
}

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

std::optional<VarianceShare> variance_share(std::span<const double> values,
                                            std::span<const size_t> group) {
  std::map<size_t, std::vector<double>> groups;
  for (size_t i = 0; i < values.size(); ++i) groups[group[i]].push_back(values[i]);
  if (groups.size() < 2 || groups.size() == values.size()) return std::nullopt;
  const double mean = moments_of(values).mean;
  double between = 0;
  double within = 0;
  for (const auto& [number, members] : groups) {
    const double own = moments_of(members).mean;
    between += static_cast<double>(members.size()) * (own - mean) * (own - mean);
    for (const double value : members) within += (value - own) * (value - own);
  }
  const double total = between + within;
  if (total == 0) return std::nullopt;
  const auto between_degrees = static_cast<double>(groups.size() - 1);
  const auto within_degrees = static_cast<double>(values.size() - groups.size());
  const double noise = within / within_degrees;
  VarianceShare share{.groups = groups.size()};
  share.omega_squared = std::max(0.0, (between - between_degrees * noise) / (total + noise));
  if (noise == 0) {
    share.f = std::numeric_limits<double>::infinity();  // the groups explain all of it
    share.p = 0;
    return share;
  }
  share.f = between / between_degrees / noise;
  share.p = fisher_survival(share.f, between_degrees, within_degrees);
  return share;
}

std::vector<size_t> grouped(std::span<const double> settings, size_t most) {
  std::map<double, size_t> group;  // of each distinct setting
  std::vector<double> sorted(settings.begin(), settings.end());
  std::sort(sorted.begin(), sorted.end());
  const bool few = std::set<double>(sorted.begin(), sorted.end()).size() <= most;
  size_t last = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (group.contains(sorted[i])) continue;
    last = few ? group.size() : i * most / sorted.size();
    group[sorted[i]] = last;
  }
  std::vector<size_t> numbers;
  numbers.reserve(settings.size());
  for (const double setting : settings) numbers.push_back(group[setting]);
  return numbers;
}

}  // namespace plimsoll::statistics
