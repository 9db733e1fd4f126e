#include "statistics/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace plimsoll::statistics {
namespace {

constexpr double kTiny = 1e-300;
constexpr double kPrecision = 1e-16;
constexpr int kMostTerms = 100'000;

// The continued fraction of I_x(a, b) by Lentz's method. Converges fast for x < (a+1)/(a+b+2).
double beta_fraction(double a, double b, double x) {
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double step = d * c;
    fraction *= step;
    if (std::abs(step - 1) < kPrecision) break;
  }
  return fraction;
}

double polynomial(double x, const auto& coefficients) {
  double value = 0;
  for (const double coefficient : coefficients) value = value * x + coefficient;
  return value;
}

// Acklam's rational approximation, to 9 digits; one step of Halley's method makes it exact.
double rough_normal_quantile(double p) {
  constexpr std::array<double, 6> kA = {-3.969683028665376e+01, 2.209460984245205e+02,
                                        -2.759285104469687e+02, 1.383577518672690e+02,
                                        -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array<double, 6> kB = {-5.447609879822406e+01, 1.615858368580409e+02,
                                        -1.556989798598866e+02, 6.680131188771972e+01,
                                        -1.328068155288572e+01, 1};
  constexpr std::array<double, 6> kC = {-7.784894002430293e-03, -3.223964580411365e-01,
                                        -2.400758277161838e+00, -2.549732539343734e+00,
                                        4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array<double, 5> kD = {7.784695709041462e-03, 3.224671290700398e-01,
                                        2.445134137142996e+00, 3.754408661907416e+00, 1};
  constexpr double kTail = 0.02425;
  if (p > 1 - kTail) return -rough_normal_quantile(1 - p);
  if (p < kTail) {
    const double q = std::sqrt(-2 * std::log(p));
    return polynomial(q, kC) / polynomial(q, kD);
  }
  const double q = p - 0.5;
  return q * polynomial(q * q, kA) / polynomial(q * q, kB);
}

}  // namespace

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

double normal_survival(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

double normal_quantile(double probability) {
  if (probability <= 0) return -std::numeric_limits<double>::infinity();
  if (probability >= 1) return std::numeric_limits<double>::infinity();
  if (probability == 0.5) return 0;
  const double z = rough_normal_quantile(probability);
  const double excess =
      (normal_cdf(z) - probability) * std::sqrt(2 * std::numbers::pi) * std::exp(z * z / 2);
  return z - excess / (1 + z * excess / 2);
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_two_sided(double t, double degrees) {
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double student_cdf(double t, double degrees) {
  const double tail = student_two_sided(t, degrees) / 2;
  return t < 0 ? tail : 1 - tail;
}

// Bisection: about 60 steps, and it cannot fail.
double student_quantile(double probability, double degrees) {
  if (probability < 0.5) return -student_quantile(1 - probability, degrees);
  if (probability == 0.5) return 0;
  if (probability >= 1) return std::numeric_limits<double>::infinity();
  const double tails = 2 * (1 - probability);
  double low = 0;
  double high = 1;
  while (student_two_sided(high, degrees) > tails) high *= 2;
  while (high - low > high * std::numeric_limits<double>::epsilon()) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (student_two_sided(middle, degrees) > tails ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

double noncentral_student_cdf(double t, double degrees, double shift) {
  if (t < 0) return 1 - noncentral_student_cdf(-t, degrees, -shift);
  if (t == 0) return normal_cdf(-shift);
  const double x = t * t / (t * t + degrees);
  const double half = shift * shift / 2;
  double sum = 0;
  for (int j = 0; j < kMostTerms; ++j) {
    // The weights of a Poisson distribution with mean `half`, the second at half-integers.
    const double even = half == 0 ? (j == 0 ? 1.0 : 0.0)
                                  : std::exp(-half + j * std::log(half) - std::lgamma(j + 1.0));
    const double odd =
        half == 0 ? 0
                  : std::copysign(
                        std::exp(-half + (j + 0.5) * std::log(half) - std::lgamma(j + 1.5)), shift);
    sum += even * incomplete_beta(j + 0.5, degrees / 2, x) +
           odd * incomplete_beta(j + 1.0, degrees / 2, x);
    if (j > half && even + std::abs(odd) < kPrecision) break;
  }
  return std::clamp(normal_cdf(-shift) + sum / 2, 0.0, 1.0);
}

double fisher_survival(double f, double numerator_degrees, double denominator_degrees) {
  if (f <= 0) return 1;
  return incomplete_beta(denominator_degrees / 2, numerator_degrees / 2,
                         denominator_degrees / (denominator_degrees + numerator_degrees * f));
}

}  // namespace plimsoll::statistics
