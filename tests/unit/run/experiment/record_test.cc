#include "experiment/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

Experiment some_experiment() {
  Experiment made{.number = 3, .id = "r__a", .folder = "a", .mode = "mutation", .entry = 2};
  made.training = {.repository = "examples", .model = "mnist", .values = {}};
  made.training.values.set("seed", value_of(UINT64_MAX));
  made.training.values.set("rate", {.number = 3e-5});
  made.training.values.set("layers", value_of(INT64_MIN));
  return made;
}

TEST(Record, ReadsBackEveryDigit) {
  const Experiment back = experiment_of(to_text(some_experiment()));
  EXPECT_EQ(back.number, 3);
  EXPECT_EQ(back.training.values, some_experiment().training.values);
  EXPECT_EQ(text_of(*back.training.values.find("seed")), "18446744073709551615");
  AttemptResult attempt{.cause = Cause::success, .values = back.training.values};
  attempt.metrics["tokens"] = value_of(9007199254740993);
  attempt.metrics["loss"] = {.number = 0.1};
  attempt.metrics["worst"] = {.number = INFINITY};
  const AttemptResult again = attempt_of(to_text(attempt));
  EXPECT_EQ(again.metrics, attempt.metrics);
  EXPECT_EQ(again.values, attempt.values);
}

TEST(Record, IsWrittenForScriptsWithEveryDigit) {
  EXPECT_EQ(plain_json(some_experiment().training.values).dump(),
            R"({"seed":18446744073709551615,"rate":3e-05,"layers":-9223372036854775808})");
  EXPECT_EQ(
      plain_json({{"a", value_of(9007199254740993)}, {"b", value_of(3)}, {"c", {0.5}}}).dump(),
      R"({"a":9007199254740993,"b":3.0,"c":0.5})");
}

TEST(Record, OfAnotherShapeIsAnErrorThatSaysWhereItStood) {
  const std::string good = to_text(AttemptResult{.cause = Cause::success});
  const auto changed = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(good);
    json[key] = value;
    return json.dump();
  };
  EXPECT_NO_THROW(attempt_of(good));
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
        std::string(3'000'000, '['), changed("exit_code", 1e300), changed("exit_code", "0"),
        changed("peak_bytes", -1), changed("values", 7), changed("metrics", {1}),
        changed("energy", {{"gpus", {{{"index", 1e99}}}}})}) {
    expect_error(ErrorKind::input, {"a row of the journal"}, [&] { attempt_of(text); });
    expect_error(ErrorKind::input, {"a row of the journal"}, [&] { experiment_of(text); });
    expect_error(ErrorKind::input, {"a row of the journal"}, [&] { result_of(text); });
  }
}

TEST(Record, ATimeOutOfTheCalendarIsShown) {
  EXPECT_FALSE(iso_time(1e300).empty());
  EXPECT_FALSE(iso_time(-1e300).empty());
  EXPECT_FALSE(iso_time(NAN).empty());
}

}  // namespace
}  // namespace plimsoll::experiment
