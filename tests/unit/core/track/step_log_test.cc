#include "track/step_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/host.h"
#include "temp_folder.h"

namespace plimsoll::track {
namespace {

namespace fs = std::filesystem;

const double kNone = std::nan("");

class Logs : public testing::Test {
 protected:
  StepLogOptions options(LogKinds kinds) {
    return {.folder = folder_.path(),
            .kinds = std::move(kinds),
            .step_name = "epoch",
            .columns = {{"loss", "loss/train", "The loss."},
                        {"valid_acc", "accuracy/valid", "The accuracy."}},
            .settings = {{"lr", 0.01}, {"model", std::string("gcn")}},
            .group = {},
            .final_tags = {"accuracy/valid"},
            .metric_prefix = "toy_",
            .labels = {{"dataset", "a \"b\"\\\n"}},
            .failed = [this](const std::string& what) { failures_.push_back(what); }};
  }
  static LogStep step(uint64_t number) {
    return {.step = number,
            .time = 1000 + static_cast<double>(number),
            .values = {1.0 / static_cast<double>(number), number == 2 ? kNone : 0.5}};
  }
  static std::vector<LogStep> steps(uint64_t count) {
    std::vector<LogStep> all;
    for (uint64_t i = 1; i <= count; ++i) all.push_back(step(i));
    return all;
  }
  void train(LogKinds kinds, uint64_t done, uint64_t until) {
    StepLog log(options(std::move(kinds)), steps(done), 1000);
    for (uint64_t i = done + 1; i <= until; ++i) log.add(step(i));
  }
  std::string text(const char* name) { return read_text(folder_ / name).value_or(""); }

  TempFolder folder_;
  std::vector<std::string> failures_;
};

TEST_F(Logs, TableHasALineAStepAndEmptyCells) {
  train({LogKind::csv}, 0, 3);
  EXPECT_EQ(text(kHistoryTable),
            "epoch,loss,valid_acc,time\n"
            "1,1,0.5,1001.000\n"
            "2,0.5,,1002.000\n"
            "3,0.3333333333333333,0.5,1003.000\n");
}

TEST_F(Logs, LinesAreJsonWithNullForWhatIsMissing) {
  train({LogKind::jsonl}, 0, 2);
  EXPECT_EQ(text(kHistoryLines),
            "{\"epoch\":1,\"loss\":1,\"valid_acc\":0.5,\"time\":1001.0}\n"
            "{\"epoch\":2,\"loss\":0.5,\"valid_acc\":null,\"time\":1002.0}\n");
}

TEST_F(Logs, ResumedAtAnyStepIsAsIfItHadNeverStopped) {
  for (const uint64_t resumed : {1, 2, 3, 4, 5}) {
    train({LogKind::csv, LogKind::jsonl}, 0, 5);
    const std::string table = text(kHistoryTable);
    const std::string lines = text(kHistoryLines);
    train({LogKind::csv, LogKind::jsonl}, resumed, 5);
    EXPECT_EQ(text(kHistoryTable), table) << "resumed after " << resumed;
    EXPECT_EQ(text(kHistoryLines), lines) << "resumed after " << resumed;
  }
}

TEST_F(Logs, StepsThatTheFilesLackAreAdded) {
  train({LogKind::csv}, 0, 5);
  const std::string whole = text(kHistoryTable);
  fs::resize_file(folder_ / kHistoryTable, whole.size() - 20);  // a line and a half is lost
  train({LogKind::csv}, 5, 5);
  EXPECT_EQ(text(kHistoryTable), whole);
  fs::remove(folder_ / kHistoryTable);
  train({LogKind::csv}, 5, 5);
  EXPECT_EQ(text(kHistoryTable), whole);
}

TEST_F(Logs, ANewRunReplacesTheFilesOfAnEarlierOne) {
  train({LogKind::csv, LogKind::tensorboard}, 0, 5);
  train({LogKind::csv, LogKind::tensorboard}, 0, 1);
  EXPECT_EQ(text(kHistoryTable), "epoch,loss,valid_acc,time\n1,1,0.5,1001.000\n");
  size_t events = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    if (is_event_file(entry.path().filename().string())) ++events;
  }
  EXPECT_EQ(events, 1U);
}

TEST_F(Logs, ATableWithOtherColumnsIsWrittenAnew) {
  write_file(folder_ / kHistoryTable, "epoch,other\n1,2\n");
  train({LogKind::csv}, 2, 2);
  EXPECT_EQ(text(kHistoryTable), "epoch,loss,valid_acc,time\n1,1,0.5,1001.000\n2,0.5,,1002.000\n");
}

TEST_F(Logs, PrometheusFileHasTheLastStepAndEscapedLabels) {
  StepLog log(options({LogKind::prometheus}), {}, 1000);
  EXPECT_NE(text(kPrometheusFile).find("toy_epoch{dataset=\"a \\\"b\\\"\\\\\\n\"} 0\n"),
            std::string::npos);
  log.add(step(2));
  const std::string running = text(kPrometheusFile);
  EXPECT_EQ(running,
            "# HELP toy_epoch The last epoch that has ended.\n"
            "# TYPE toy_epoch gauge\n"
            "toy_epoch{dataset=\"a \\\"b\\\"\\\\\\n\"} 2\n"
            "# HELP toy_loss The loss.\n"
            "# TYPE toy_loss gauge\n"
            "toy_loss{dataset=\"a \\\"b\\\"\\\\\\n\"} 0.5\n"
            "# HELP toy_state 1 for the state of the run.\n"
            "# TYPE toy_state gauge\n"
            "toy_state{dataset=\"a \\\"b\\\"\\\\\\n\",state=\"running\"} 1\n"
            "# HELP toy_updated_seconds When this file was written, in seconds since 1970.\n"
            "# TYPE toy_updated_seconds gauge\n"
            "toy_updated_seconds{dataset=\"a \\\"b\\\"\\\\\\n\"} 1002\n");
  log.end({.state = "finished", .over = true, .success = true, .results = {}, .time = 1005});
  EXPECT_NE(text(kPrometheusFile).find("state=\"finished\""), std::string::npos);
}

TEST_F(Logs, PrometheusFileIsReplacedAtMostOnceASecond) {
  StepLog log(options({LogKind::prometheus}), {}, 1000);
  const auto shown = [&] { return text(kPrometheusFile); };
  const auto add = [&](uint64_t number, double time) {
    LogStep quick = step(number);
    quick.time = time;
    log.add(quick);
  };
  const std::string opened = shown();
  add(1, 1000.4);
  add(2, 1000.9);
  EXPECT_EQ(shown(), opened);
  add(3, 1001.0);
  EXPECT_NE(shown().find("\\n\"} 3\n"), std::string::npos) << shown();
  add(4, 900);  // the clock was set back
  EXPECT_NE(shown().find("\\n\"} 4\n"), std::string::npos) << shown();
  add(5, 900.5);
  log.end({.state = "finished", .over = true, .success = true, .results = {}, .time = 900.6});
  EXPECT_NE(shown().find("\\n\"} 5\n"), std::string::npos) << shown();
}

TEST_F(Logs, ALogThatCannotBeWrittenEndsAndTheOthersGoOn) {
  StepLog log(options({LogKind::prometheus, LogKind::csv}), {}, 1000);
  // A folder has its name now, so the file cannot be replaced.
  fs::remove(folder_ / kPrometheusFile);
  fs::create_directory(folder_ / kPrometheusFile);
  log.add(step(1));
  log.add(step(2));
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_TRUE(failures_[0].starts_with("the prometheus log ends here: ")) << failures_[0];
  EXPECT_NE(text(kHistoryTable).find("\n2,"), std::string::npos);
}

TEST(ParseLogs, ReadsAListAndNamesAWrongWord) {
  const std::vector<LogKind> known = {LogKind::tensorboard, LogKind::csv};
  EXPECT_EQ(parse_logs("csv,tensorboard", known), (LogKinds{LogKind::tensorboard, LogKind::csv}));
  EXPECT_EQ(format_logs(parse_logs("csv,tensorboard", known)), "tensorboard,csv");
  for (const char* wrong : {"", "csv,", "wandb", "optuna", "CSV"}) {
    EXPECT_THROW(parse_logs(wrong, known), Error) << wrong;
  }
}

TEST_F(Logs, AreFoundInTheirFolder) {
  EXPECT_TRUE(logs_in(folder_.path()).empty());
  train({LogKind::csv, LogKind::jsonl, LogKind::prometheus, LogKind::tensorboard}, 0, 1);
  EXPECT_EQ(logs_in(folder_.path()),
            (LogKinds{LogKind::tensorboard, LogKind::csv, LogKind::prometheus, LogKind::jsonl}));
}

TEST(PrometheusText, KeepsTheSamplesOfANameTogether) {
  PrometheusText text;
  const std::vector<PrometheusLabel> one = {{"a", "1"}};
  text.gauge("x", "Help\nwith \\ and \"quotes\".", one, 1);
  text.gauge("y", "Y.", {}, std::nan(""));
  text.gauge("x", "ignored", {}, -INFINITY);
  EXPECT_EQ(text.text(),
            "# HELP x Help\\nwith \\\\ and \"quotes\".\n# TYPE x gauge\nx{a=\"1\"} 1\nx -Inf\n"
            "# HELP y Y.\n# TYPE y gauge\ny NaN\n");
  EXPECT_EQ(prometheus_name("valid acc/1"), "valid_acc_1");
}

}  // namespace
}  // namespace plimsoll::track
