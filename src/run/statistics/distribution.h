// The distributions behind the tests, to about 13 digits, from lgamma() and erfc() of the standard
// library.
#pragma once

namespace plimsoll::statistics {

double normal_cdf(double z);
double normal_survival(double z);  // 1 - normal_cdf(z), exact in the far tail, too
double normal_quantile(double probability);

// The regularized incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x);

double student_cdf(double t, double degrees);
// The probability of a value at least as far from 0 as `t`, on both sides.
double student_two_sided(double t, double degrees);
double student_quantile(double probability, double degrees);

// Student's t of a mean that is `shift` standard errors away from 0. Lenth (1989), AS 243.
double noncentral_student_cdf(double t, double degrees, double shift);

// The probability of a value above `f`, of Fisher's F distribution.
double fisher_survival(double f, double numerator_degrees, double denominator_degrees);

}  // namespace plimsoll::statistics
