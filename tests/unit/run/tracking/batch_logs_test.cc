#include "tracking/batch_logs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/host.h"
#include "temp_folder.h"

namespace plimsoll::tracking {
namespace {

namespace fs = std::filesystem;
using experiment::Experiment;
using experiment::ExperimentResult;
using track::LogKind;
using Json = nlohmann::ordered_json;

experiment::Value number(double value, bool whole) {
  experiment::Value result;
  result.number = value;
  result.whole = whole;
  return result;
}

// A batch of three experiments of one repository, whose metric is a loss.
class BatchLogsTest : public testing::Test {
 protected:
  BatchLogsTest() {
    experiment::Repository toy;
    toy.name = "toy";
    experiment::Hyperparameter epochs;
    epochs.name = "epochs";
    epochs.whole = true;
    epochs.has_range = true;
    epochs.low = number(1, true);
    epochs.high = number(10, true);
    experiment::Hyperparameter rate;
    rate.name = "rate";
    rate.has_range = true;
    rate.log_uniform = true;
    rate.low = number(1e-5, false);
    rate.high = number(1e-1, false);
    experiment::Hyperparameter optimizer;
    optimizer.name = "optimizer";
    optimizer.type = experiment::Value::Type::text;
    optimizer.choices = {experiment::text_value("adam"), experiment::text_value("sgd")};
    experiment::Hyperparameter seed;
    seed.name = "seed";
    seed.whole = true;
    seed.nuisance = true;
    toy.hyperparameters = {epochs, rate, optimizer, seed};
    toy.metrics = {{"loss", "loss: ([0-9.]+)"}};
    batch_.catalog.repositories = {toy};
    for (size_t i = 1; i <= 3; ++i) batch_.queue.push_back(experiment(i));
  }

  static Experiment experiment(size_t i) {
    Experiment one;
    one.number = i;
    one.id = "run__toy_" + std::to_string(i);
    one.folder = "toy_" + std::to_string(i);
    one.varied = true;
    one.configuration = "toy: " + std::to_string(i);
    one.training = {"toy", "good", {}};
    one.training.values.set("epochs", number(static_cast<double>(i), true));
    one.training.values.set("rate", number(0.001, false));
    one.training.values.set("optimizer", experiment::text_value("sgd"));
    one.training.values.set("seed", number(7, true));
    return one;
  }

  // Finishes it with a training log of so many steps.
  ExperimentResult result(const Experiment& one, experiment::Cause cause, size_t steps) {
    fs::create_directories(folder_ / one.folder);
    std::string log;
    for (size_t i = 1; i <= steps; ++i) {
      log += "epoch\nloss: " + std::to_string(1.0 / static_cast<double>(i)) + "\n";
    }
    write_file(folder_ / one.folder / "training.log", log);
    ExperimentResult result;
    result.success = cause == experiment::Cause::success;
    result.last.cause = cause;
    result.last.values = one.training.values;
    result.last.started = 1000 + 10 * static_cast<double>(one.number);
    result.last.seconds = 5;
    if (steps > 0) {
      result.last.metrics["loss"] = number(1.0 / static_cast<double>(steps), false);
    }
    return result;
  }

  std::string text(const fs::path& name) { return read_text(folder_ / name).value_or(""); }
  std::vector<Json> lines(const char* name) {
    std::vector<Json> found;
    std::istringstream stream(text(name));
    for (std::string line; std::getline(stream, line);) found.push_back(Json::parse(line));
    return found;
  }
  BatchLogs logs(track::LogKinds kinds) {
    return {folder_.path(), std::move(kinds), batch_,
            [this](const std::string& what) { said_.push_back(what); }};
  }

  TempFolder folder_;
  experiment::ExperimentBatch batch_;
  std::vector<std::string> said_;
};

TEST_F(BatchLogsTest, TableHasTheCurveOfTheTrainingLog) {
  BatchLogs all = logs({LogKind::csv, LogKind::tensorboard});
  all.begin({});
  all.add(batch_.queue[0], result(batch_.queue[0], experiment::Cause::success, 2));
  EXPECT_EQ(text("toy_1/history.csv"), "step,loss,time\n1,1,1012.500\n2,0.5,1015.000\n");
  EXPECT_TRUE(track::logs_in(folder_ / "toy_1").contains(LogKind::tensorboard));
  EXPECT_TRUE(said_.empty());
}

TEST_F(BatchLogsTest, OptunaHasAStudyAndATrialForEachExperiment) {
  BatchLogs all = logs({LogKind::optuna});
  all.begin({});
  all.add(batch_.queue[0], result(batch_.queue[0], experiment::Cause::success, 2));
  all.add(batch_.queue[1], result(batch_.queue[1], experiment::Cause::failed, 0));
  const auto found = lines(kOptunaJournal);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0]["op_code"], 0);
  EXPECT_EQ(found[0]["directions"], Json({1}));  // a loss is minimised
  EXPECT_EQ(found[2]["state"], 1);
  EXPECT_EQ(found[2]["value"], 0.5);
  EXPECT_EQ(found[2]["params"]["epochs"], 1);
  EXPECT_EQ(found[2]["params"]["optimizer"], 1);  // the index of sgd
  EXPECT_FALSE(found[2]["params"].contains("seed"));
  EXPECT_EQ(found[2]["user_attrs"]["seed"], 7);
  EXPECT_EQ(Json::parse(found[2]["distributions"]["rate"].get<std::string>())["attributes"]["log"],
            true);
  EXPECT_EQ(found[2]["intermediate_values"]["2"], 0.5);
  EXPECT_EQ(found[3]["state"], 3);
  EXPECT_TRUE(found[3]["value"].is_null());
}

TEST_F(BatchLogsTest, AreTheSameAfterAResume) {
  const track::LogKinds kinds = {LogKind::optuna, LogKind::jsonl, LogKind::csv};
  const ExperimentResult first = result(batch_.queue[0], experiment::Cause::success, 2);
  const ExperimentResult second = result(batch_.queue[1], experiment::Cause::success, 1);
  {
    BatchLogs all = logs(kinds);
    all.begin({});
    all.add(batch_.queue[1], second);  // it began later, but nothing depends on that
    all.add(batch_.queue[0], first);
  }
  const std::string journal = text(kOptunaJournal);
  write_file(folder_ / kOptunaJournal, journal.substr(0, journal.size() / 2));  // a crash
  {
    BatchLogs all = logs(kinds);
    all.begin({{&batch_.queue[0], first}, {&batch_.queue[1], second}});
    all.add(batch_.queue[2], result(batch_.queue[2], experiment::Cause::success, 1));
  }
  EXPECT_EQ(lines(kOptunaJournal).size(), 2U + 3U);
  const auto experiments = lines(kExperimentLines);
  ASSERT_EQ(experiments.size(), 3U);
  EXPECT_EQ(experiments[0]["experiment_id"], "run__toy_1");
  EXPECT_EQ(experiments[2]["performance_metrics"]["loss"], 1.0);
}

TEST_F(BatchLogsTest, AnExperimentThatRunsAgainCountsOnce) {
  BatchLogs all = logs({LogKind::prometheus, LogKind::csv});
  all.begin({});
  all.add(batch_.queue[0], result(batch_.queue[0], experiment::Cause::failed, 3));
  all.add(batch_.queue[0], result(batch_.queue[0], experiment::Cause::success, 1));
  const std::string metrics = text("metrics.prom");
  const std::string run = "{run=\"" + folder_.path().string() + "\"";
  EXPECT_NE(metrics.find("plimsoll_batch_experiments" + run + ",state=\"succeeded\"} 1\n"),
            std::string::npos)
      << metrics;
  EXPECT_NE(metrics.find(",state=\"failed\"} 0\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(",state=\"left\"} 2\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(",repository=\"toy\",metric=\"loss\"} 1\n"), std::string::npos) << metrics;
  EXPECT_EQ(text("toy_1/history.csv"), "step,loss,time\n1,1,1015.000\n");
  all.end();
  EXPECT_NE(text("metrics.prom").find("state=\"stopped\"} 1"), std::string::npos);
}

TEST_F(BatchLogsTest, AValueOutsideOfItsRangeWidensTheDistribution) {
  Experiment odd = batch_.queue[0];
  ExperimentResult shrunk = result(odd, experiment::Cause::success, 1);
  shrunk.last.values.set("epochs", number(0, true));
  const OptunaStudies studies("run", batch_);
  const Json trial = Json::parse(studies.trial(odd, shrunk, {}));
  const Json epochs = Json::parse(trial["distributions"]["epochs"].get<std::string>());
  EXPECT_EQ(epochs["attributes"]["low"], 0);
  EXPECT_EQ(epochs["attributes"]["high"], 10);
}

TEST_F(BatchLogsTest, WithoutALogNothingIsWritten) {
  BatchLogs all = logs({});
  all.begin({});
  const auto ended = result(batch_.queue[0], experiment::Cause::success, 1);
  all.add(batch_.queue[0], ended);
  all.end();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);  // the experiment's
}

}  // namespace
}  // namespace plimsoll::tracking
