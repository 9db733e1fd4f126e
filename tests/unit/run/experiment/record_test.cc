#include "experiment/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "experiment/example_files.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

Experiment some_experiment() {
  Experiment made{.number = 3, .id = "r__a", .folder = "a", .varied = true, .entry = 2};
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

TEST(Record, ReadsBackTextsTruthValuesDesignAndEarlyStopping) {
  Experiment made = some_experiment();
  made.training.values.set("optimizer", text_value("adam w"));
  made.training.values.set("amp", truth_value(true));
  made.configuration = "examples/mnist: rate=3e-05";
  made.repeat = 2;
  made.listed = 7;
  made.warmup = true;
  made.baseline = true;
  const Experiment back = experiment_of(to_text(made));
  EXPECT_EQ(back.training.values, made.training.values);
  EXPECT_EQ(to_text(back), to_text(made));
  EXPECT_EQ(plain_json(back.training.values).at("amp"), true);
  EXPECT_EQ(plain_json(back.training.values).at("optimizer"), "adam w");
  AttemptResult attempt{.cause = Cause::stopped_early, .steps = 3, .shared = 2};
  attempt.stop = {.policy = StopRule::Policy::asha, .step = 3, .value = NAN, .reason = "nan"};
  const AttemptResult again = attempt_of(to_text(attempt));
  EXPECT_EQ(to_text(again), to_text(attempt));
  EXPECT_TRUE(std::isnan(again.stop->value));
  EXPECT_FALSE(failed({.success = false, .last = again}));
}

TEST(Record, OfVersion01GetsItsConfigurationFromTheModelConfig) {
  auto json = nlohmann::json::parse(to_text(some_experiment()));
  for (const char* key : {"configuration", "repeat", "listed", "warmup", "baseline"}) {
    json.erase(key);
  }
  json["training"]["values"] = {{{"name", "seed"}, {"number", 5}, {"whole", true}},
                                {{"name", "epochs"}, {"number", 7}, {"whole", true}}};
  std::vector<Experiment> queue = {experiment_of(json.dump()), experiment_of(json.dump())};
  queue[1].training.values.set("seed", value_of(6));
  complete_queue(queue, example_catalog());
  EXPECT_EQ(queue[0].configuration, "examples/mnist: epochs=7");
  EXPECT_EQ(queue[1].configuration, queue[0].configuration);
  EXPECT_EQ(queue[1].repeat, 2);
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
