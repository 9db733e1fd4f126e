#include <algorithm>
#include <cmath>
#include <vector>

#include "statistics/distribution.h"
#include "statistics/hypothesis.h"
#include "statistics/sample.h"

namespace plimsoll::statistics {
namespace {

__extension__ using Count = unsigned __int128;

constexpr size_t kExactUpTo = 8;
constexpr size_t kMostExact = 100'000;  // of the larger sample; the counts fit 128 bits
constexpr size_t kMostDifferences = 4'000'000;
constexpr double kWantedLevel = 0.95;

// In how many of the orders of both samples U has each value: the coefficients of a Gaussian
// binomial. The subtractions may wrap around; the results, below 2^128, are exact all the same.
std::vector<Count> orders_by_u(size_t small, size_t large) {
  std::vector<Count> orders(small * large + 1, 0);
  orders[0] = 1;
  for (size_t i = 1; i <= small; ++i) {
    for (size_t u = orders.size(); u-- > large + i;) orders[u] -= orders[u - large - i];
    for (size_t u = i; u < orders.size(); ++u) orders[u] += orders[u - i];
  }
  return orders;
}

// The exact distribution of U.
class ExactU {
 public:
  ExactU(size_t a, size_t b) {
    double sum = 0;
    for (const Count count : orders_by_u(std::min(a, b), std::max(a, b))) {
      sum += static_cast<double>(count);
      sums_.push_back(sum);
    }
  }
  // The probability that U is at most `u`.
  double at_most(size_t u) const { return sums_[std::min(u, sums_.size() - 1)] / sums_.back(); }

 private:
  std::vector<double> sums_;
};

double standard_deviation_of_u(double a, double b, double tie_term) {
  const double all = a + b;
  return std::sqrt(a * b / 12 * (all + 1 - tie_term / (all * (all - 1))));
}

// The outermost of the sorted differences are left out on each side, as many as the level allows.
// An interval of all of them may still have a lower level.
struct LeftOut {
  size_t differences = 0;
  double level = kWantedLevel;
};

LeftOut left_out(const ExactU& distribution, size_t pairs) {
  size_t out = 0;
  while (out < pairs / 2 && distribution.at_most(out) <= (1 - kWantedLevel) / 2) ++out;
  if (out == 0) return {.differences = 0, .level = 1 - 2 * distribution.at_most(0)};
  return {.differences = out - 1, .level = 1 - 2 * distribution.at_most(out - 1)};
}

LeftOut left_out(double a, double b, double deviation) {
  const double z = normal_quantile((1 + kWantedLevel) / 2);
  const double rank = std::floor(a * b / 2 - z * deviation);  // from 1, of the lower end
  if (rank >= 1) return {.differences = static_cast<size_t>(rank) - 1};
  const double reached = (a * b / 2 - 1) / deviation;  // by all differences
  return {.differences = 0, .level = std::max(0.0, 1 - 2 * normal_survival(reached))};
}

std::vector<double> differences_of(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double one : a) {
    for (const double other : b) differences.push_back(one - other);
  }
  std::sort(differences.begin(), differences.end());
  return differences;
}

}  // namespace

MannWhitneyTest mann_whitney_test(std::span<const double> a, std::span<const double> b) {
  std::vector<double> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  const Ranks ranks = ranks_of(both);
  const auto first = static_cast<double>(a.size());
  const auto second = static_cast<double>(b.size());
  MannWhitneyTest test;
  for (size_t i = 0; i < a.size(); ++i) test.u += ranks.rank[i];
  test.u -= first * (first + 1) / 2;
  const double larger = std::max(test.u, first * second - test.u);
  const bool few =
      std::min(a.size(), b.size()) <= kExactUpTo && std::max(a.size(), b.size()) <= kMostExact;
  test.exact = few && ranks.tie_term == 0;
  const double deviation = standard_deviation_of_u(first, second, ranks.tie_term);
  const auto by_normal_distribution = [&] {
    const double above = larger - first * second / 2 - 0.5;
    return deviation == 0 ? 1 : std::min(1.0, 2 * normal_survival(above / deviation));
  };
  LeftOut out;
  if (few) {
    const ExactU distribution(a.size(), b.size());
    const auto smaller = static_cast<size_t>(first * second - larger);
    test.p =
        test.exact ? std::min(1.0, 2 * distribution.at_most(smaller)) : by_normal_distribution();
    // With ties this interval has at least the level that it has without them, as it includes its
    // ends; the normal distribution would promise too much.
    out = left_out(distribution, a.size() * b.size());
  } else {
    test.p = by_normal_distribution();
    out = left_out(first, second, deviation);
  }
  if (a.size() > kMostDifferences / b.size()) {  // too many to list
    test.shift = median_of({a.begin(), a.end()}) - median_of({b.begin(), b.end()});
    test.interval = {.low = test.shift, .high = test.shift, .level = 0};
    return test;
  }
  const std::vector<double> differences = differences_of(a, b);
  test.shift =
      (differences[(differences.size() - 1) / 2] + differences[differences.size() / 2]) / 2;
  const size_t leave = std::min(out.differences, (differences.size() - 1) / 2);
  test.interval = {.low = differences[leave],
                   .high = differences[differences.size() - 1 - leave],
                   .level = out.level};
  return test;
}

}  // namespace plimsoll::statistics
