#include "plot/axis.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll::plot {
namespace {

std::vector<std::string> labels_of(const Scale& scale) {
  std::vector<std::string> labels;
  for (const Tick& tick : scale.ticks) labels.push_back(tick.label);
  return labels;
}

using Labels = std::vector<std::string>;

TEST(Axis, TicksStandAtRoundNumbers) {
  const Scale scale = scale_for({.label = "loss"}, 0.13, 0.97, 5);
  EXPECT_EQ(labels_of(scale), (Labels{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_LE(scale.low, 0.13);
  EXPECT_GE(scale.high, 0.97);
}

TEST(ValueText, HasNoExponentWhereDigitsCanBeRead) {
  EXPECT_EQ(value_text(Quantity::joules, 1000), "1,000 J");
  EXPECT_EQ(value_text(Quantity::joules, 999.7), "1,000 J");
  EXPECT_EQ(value_text(Quantity::joules, 12.345), "12.3 J");
  EXPECT_EQ(value_text(Quantity::number, 123456.7), "123,457");
  EXPECT_EQ(value_text(Quantity::number, -12345), "−12,345");
  EXPECT_EQ(value_text(Quantity::number, 0.012345), "0.01235");
  EXPECT_EQ(value_text(Quantity::number, 1e15), "1e+15");
}

TEST(Axis, BytesHaveBinaryUnitsAndSteps) {
  const Scale scale = scale_for({.label = "memory", .quantity = Quantity::bytes, .from_zero = true},
                                1e9, 15.5 * 1024 * 1024 * 1024, 4);
  EXPECT_EQ(labels_of(scale), (Labels{"0", "4", "8", "12", "16"}));
  EXPECT_EQ(heading_of({.label = "memory"}, scale), "memory (GiB)");
}

TEST(Axis, SecondsBecomeMinutesAndHours) {
  const Axis time{.label = "time", .quantity = Quantity::seconds, .from_zero = true};
  EXPECT_EQ(scale_for(time, 0, 45, 4).unit_name, "s");
  const Scale minutes = scale_for(time, 0, 3300, 4);
  EXPECT_EQ(minutes.unit_name, "min");
  EXPECT_EQ(labels_of(minutes), (Labels{"0", "15", "30", "45", "60"}));
  EXPECT_EQ(scale_for(time, 0, 5 * 3600, 6).unit_name, "h");
  EXPECT_EQ(scale_for(time, 0, 0.004, 4).unit_name, "ms");
}

TEST(Axis, EnergyIsInWattHoursAboveSomeThousandJoules) {
  const Axis energy{.label = "energy", .quantity = Quantity::joules, .from_zero = true};
  EXPECT_EQ(scale_for(energy, 0, 500, 4).unit_name, "J");
  EXPECT_EQ(scale_for(energy, 0, 90'000, 4).unit_name, "Wh");
}

TEST(Axis, CountsHaveNoFractions) {
  for (const Tick& tick :
       scale_for({.label = "epoch", .quantity = Quantity::count}, 1, 3, 9).ticks) {
    EXPECT_EQ(tick.value, std::round(tick.value));
  }
}

TEST(Axis, ALogScaleNamesItsDecades) {
  const Scale scale = scale_for({.label = "rate", .logarithmic = true}, 1e-5, 0.1, 6);
  EXPECT_TRUE(scale.logarithmic);
  EXPECT_EQ(labels_of(scale), (Labels{"1e-05", "1e-04", "0.001", "0.01", "0.1"}));
  EXPECT_NEAR(scale.share(1e-3), 0.5, 1e-9);
}

TEST(Axis, ALogScaleNeedsPositiveValues) {
  EXPECT_FALSE(scale_for({.label = "x", .logarithmic = true}, 0, 10, 5).logarithmic);
}

// Whatever comes, there is a range that contains it and ticks within that range.
TEST(Axis, AnyValuesGiveAUsableScale) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {0, 1, -1, 1e-300, 1e300, 42, -3e5, infinity, -infinity, std::nan("")};
  for (const Quantity quantity : {Quantity::number, Quantity::count, Quantity::seconds,
                                  Quantity::bytes, Quantity::joules, Quantity::share}) {
    for (const double low : values) {
      for (const double high : values) {
        for (const bool logarithmic : {false, true}) {
          const Scale scale = scale_for(
              {.label = "x", .quantity = quantity, .logarithmic = logarithmic}, low, high, 6);
          EXPECT_LT(scale.low, scale.high) << low << " " << high;
          EXPECT_FALSE(scale.ticks.empty());
          EXPECT_LE(scale.ticks.size(), 14U) << low << " " << high;
        }
      }
    }
  }
}

TEST(Axis, ALongTextIsShortenedToItsRoom) {
  const std::string text = shortened("a very long name of a configuration", 80, 12);
  EXPECT_TRUE(text.ends_with("…"));
  EXPECT_LE(text_width(text, 12), 80);
  EXPECT_EQ(shortened("short", 80, 12), "short");
}

}  // namespace
}  // namespace plimsoll::plot
