// Every figure against SciPy's: kept values, and those of the SciPy of this machine, if there is
// one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "statistics/distribution.h"
#include "statistics/hypothesis.h"
#include "statistics/sample.h"

namespace plimsoll::statistics {
namespace {

using Json = nlohmann::json;
using Sample = std::vector<double>;

constexpr const char* kFolder = PLIMSOLL_SOURCE_DIR "/tests/golden/statistics/";
constexpr int kSkipped = 77;

// 1e-6 of the larger of both, and of 1: a p of 1e-9 may be 1e-7.
void expect_near(double ours, const Json& theirs, const char* what, double tolerance = 1e-6) {
  const auto value = theirs.get<double>();
  EXPECT_NEAR(ours, value, tolerance * std::max(std::abs(value), 1e-3)) << what;
}

void check_distributions(const Json& golden) {
  for (const Json& one : golden.at("normal")) {
    expect_near(normal_cdf(one.at("z")), one.at("cdf"), "normal_cdf");
    EXPECT_NEAR(normal_survival(one.at("z")) / one.at("survival").get<double>(), 1, 1e-9);
  }
  for (const Json& one : golden.at("normal_quantile")) {
    expect_near(normal_quantile(one.at("p")), one.at("z"), "normal_quantile", 1e-9);
  }
  for (const Json& one : golden.at("beta")) {
    expect_near(incomplete_beta(one.at("a"), one.at("b"), one.at("x")), one.at("value"), "beta",
                1e-9);
  }
  for (const Json& one : golden.at("student")) {
    expect_near(student_cdf(one.at("t"), one.at("degrees")), one.at("cdf"), "student_cdf", 1e-9);
  }
  for (const Json& one : golden.at("student_quantile")) {
    expect_near(student_quantile(one.at("p"), one.at("degrees")), one.at("t"), "student_quantile",
                1e-8);
  }
  for (const Json& one : golden.at("noncentral")) {
    EXPECT_NEAR(noncentral_student_cdf(one.at("t"), one.at("degrees"), one.at("shift")),
                one.at("cdf").get<double>(), 1e-7)
        << one;
  }
}

void check_pair(const Json& pair) {
  const Sample a = pair.at("a");
  const Sample b = pair.at("b");
  SCOPED_TRACE(testing::Message() << a.size() << " and " << b.size() << " values");
  const Moments moments = moments_of(a);
  expect_near(moments.mean, pair.at("mean"), "mean");
  expect_near(moments.deviation.value(), pair.at("deviation"), "deviation");
  const auto welch = welch_test(a, b);
  ASSERT_TRUE(welch);
  expect_near(welch->t, pair.at("t"), "t");
  expect_near(welch->degrees, pair.at("degrees"), "degrees");
  expect_near(welch->p, pair.at("t_p"), "p of t");
  expect_near(welch->interval.low, pair.at("low"), "low");
  expect_near(welch->interval.high, pair.at("high"), "high");
  const MannWhitneyTest whitney = mann_whitney_test(a, b);
  expect_near(whitney.u, pair.at("u"), "U");
  expect_near(whitney.p, pair.at("u_p"), "p of U");
  expect_near(hedges_g(a, b).value(), pair.at("g"), "Hedges' g");
  expect_near(rank_biserial(whitney.u, a.size(), b.size()), pair.at("rank_biserial"), "r");
  Sample both = a;
  both.insert(both.end(), b.begin(), b.end());
  EXPECT_EQ(ranks_of(both).rank, pair.at("ranks").get<Sample>());
}

// SciPy before 1.12 computes this test in single precision: its p has about five digits.
void check_normality(const Json& golden, bool single_precision) {
  for (const Json& one : golden) {
    const auto test = shapiro_wilk_test(one.at("values").get<Sample>());
    ASSERT_TRUE(test);
    const auto count = one.at("values").size();
    EXPECT_NEAR(test->w, one.at("w").get<double>(), 1e-6) << count << " values";
    EXPECT_NEAR(test->p, one.at("p").get<double>(), single_precision ? 2e-5 : 1e-6)
        << count << " values";
  }
}

void check_all(const Json& golden) {
  check_distributions(golden);
  for (const Json& pair : golden.at("pairs")) check_pair(pair);
  const auto version = golden.at("scipy").get<std::string>();
  check_normality(golden.at("normality"),
                  version.starts_with("1.") && std::stoi(version.substr(2)) < 12);
  for (const Json& one : golden.at("repeats")) {
    const auto repeats = repeats_for(one.at("difference"), one.at("deviation"));
    EXPECT_EQ(repeats, one.at("repeats").get<size_t>()) << one;
    expect_near(power_of(one.at("difference"), one.at("deviation"), one.at("repeats")),
                one.at("power"), "power");
  }
  for (const Json& one : golden.at("variance")) {
    Sample values;
    std::vector<size_t> group;
    for (size_t i = 0; i < one.at("groups").size(); ++i) {
      for (const double value : one.at("groups")[i].get<Sample>()) {
        values.push_back(value);
        group.push_back(i);
      }
    }
    const auto share = variance_share(values, group);
    ASSERT_TRUE(share);
    expect_near(share->f, one.at("f"), "F");
    expect_near(share->p, one.at("p"), "p of F");
  }
}

TEST(Golden, FiguresEqualThoseThatSciPyGave) {
  std::ifstream file(std::string(kFolder) + "values.json");
  ASSERT_TRUE(file);
  check_all(Json::parse(file));
}

TEST(Golden, FiguresEqualThoseOfTheSciPyOfThisMachine) {
  const std::string command = std::string("/usr/bin/python3 -W ignore ") + kFolder + "make.py 7";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  std::vector<char> block(65536);
  while (const size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
    text.append(block.data(), got);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status) && (WEXITSTATUS(status) == kSkipped || WEXITSTATUS(status) == 127)) {
    GTEST_SKIP() << "there is no SciPy here (python3-scipy)";
  }
  ASSERT_EQ(status, 0);
  check_all(Json::parse(text));
}

}  // namespace
}  // namespace plimsoll::statistics
