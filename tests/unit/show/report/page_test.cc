#include "report/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "report/bodies.h"

namespace plimsoll::report {
namespace {

constexpr const char* kEvil = "<script>alert('x')</script>";

size_t times(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Every element that is opened is closed, and nothing is in a page that a strict policy refuses.
void expect_sound(const std::string& html) {
  for (const char* element : {"section", "figure", "svg", "table", "dl", "div", "p", "ul", "pre"}) {
    EXPECT_EQ(times(html, fmt::format("<{}>", element)) + times(html, fmt::format("<{} ", element)),
              times(html, fmt::format("</{}>", element)))
        << element;
  }
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find(" style=\""), std::string::npos);
  EXPECT_EQ(html.find("http://"), html.find("http://www.w3.org/2000/svg"));
  EXPECT_EQ(html.find("https://"), std::string::npos);
}

OneTraining trained(size_t epochs) {
  OneTraining one;
  launch::TrainingRecord& record = one.record;
  record.dataset = kEvil;
  record.status = recipe::TrainingStatus::finished;
  record.device = "cpu";
  record.best_epoch = 1;
  record.valid_accuracy = 0.8;
  record.test_accuracy = 0.79;
  record.seconds = 12;
  record.peak_memory_bytes = 200 << 20;
  record.planned_memory_bytes = 210 << 20;
  record.planned_epoch_seconds = 0.1;
  record.batches_per_second = 10;
  record.batches_run = 100;
  record.stages = launch::StageRecord{1, 2, 3, 4, 5, 6};
  for (size_t i = 1; i <= epochs; ++i) {
    const double left = 1.0 / static_cast<double>(i);
    record.series.push_back({i, left, 1 - left, 0.9 - left / 2, 0.1, 0.01});
  }
  launch::TrainingDiary diary;
  diary.command = kEvil;
  diary.working_folder = "/tmp/a & b";
  diary.cpu = "A CPU";
  diary.limit_bytes = 256 << 20;
  diary.planned_parts = {{"features", 20 << 20}, {"runtime", 190 << 20}};
  diary.memory.tags = {"runtime", kEvil};
  for (size_t i = 0; i < 256; ++i) {
    diary.memory.samples.push_back(
        {static_cast<double>(i), uint64_t{200} << 20, {uint64_t{180} << 20, i << 10}});
  }
  diary.batches = 10;
  one.diary = diary;
  return one;
}

TrainingData training(size_t epochs) {
  return {.found = {.kind = RunKind::training, .name = kEvil, .path = "/runs/one"},
          .trainings = {trained(epochs)}};
}

TEST(Page, ATrainingHasItsSections) {
  const std::string html = run_body(training(20));
  expect_sound(html);
  for (const char* text :
       {"Training loss", "Accuracy", "Memory over time", "limit 256.0 MiB", "planned peak",
        "draw neighbours", "gather rows", "backward", "wait for a batch", "Reads", "Recipe",
        "Repeat it", "Machine", "A CPU", "80.00 %", "79.00 %"}) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
  }
}

TEST(Page, SaysWhatWasNotRecorded) {
  TrainingData data = training(3);
  data.trainings.front().diary.reset();
  data.trainings.front().record.stages.reset();
  const std::string html = run_body(data);
  expect_sound(html);
  for (const char* text :
       {"Memory over time was not recorded", "The command line was not recorded",
        "Where the time went was not recorded", "The machine was not recorded"}) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
  }
}

TEST(Page, ATrainingOnAGpuShowsTheGpusMemoryAndNoStages) {
  TrainingData data = training(3);
  OneTraining& one = data.trainings.front();
  one.record.device = "cuda:0";
  one.record.stages = launch::StageRecord{.waiting = 6};
  one.record.disk = {.method = "io_uring", .reads = 3, .bytes = 12288, .rows_on_disk = 40};
  one.diary->gpu = launch::GpuRecord{
      .name = "NVIDIA H200",
      .limit_bytes = 900 << 20,
      .planned_bytes = 840 << 20,
      .peak_bytes = 838 << 20,
      .parts = {{"features", 40 << 20, 39 << 20}, {"runtime", 800 << 20, std::nullopt}}};
  const std::string html = run_body(data);
  expect_sound(html);
  for (const char* text : {"NVIDIA H200", "Memory of the GPU by part", "GPU memory", "838.0 MiB",
                           "of 900.0 MiB allowed", "93 % of the limit", "wait for the disk",
                           "in one go", "rows from disk"}) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
  }
  for (const char* text : {"draw neighbours", "backward", "rows that batches needed"}) {
    EXPECT_EQ(html.find(text), std::string::npos) << text;
  }
  const std::string compared = comparison_body({RunData(data), RunData(training(3))});
  EXPECT_NE(compared.find(">GPU memory</th>"), std::string::npos);
}

TEST(Page, ARunningTrainingShowsHowFarItIs) {
  TrainingData data = training(3);
  data.trainings.front().running = true;
  data.trainings.front().diary->epoch = 4;
  data.trainings.front().diary->batch = 5;
  data.trainings.front().record.recipe.epochs = 10;
  const std::string html = run_body(data);
  expect_sound(html);
  EXPECT_NE(html.find("<progress max=\"1\" value=\"0.3500\""), std::string::npos);
  EXPECT_NE(html.find("epoch 4 of 10, batch 5 of 10"), std::string::npos);
}

TEST(Page, ATrainingWithoutAnEpochIsAPage) {
  TrainingData data = training(0);
  data.trainings.front().diary->memory = {};
  expect_sound(run_body(data));
}

TEST(Page, AHundredThousandEpochsStayBelowAMegabyte) {
  EXPECT_LT(document({.title = "x", .body = run_body(training(100'000))}).size(), 1'000'000U);
}

TEST(Page, SeedsAreComparedInOneTraining) {
  TrainingData data = training(5);
  data.trainings.push_back(trained(5));
  data.trainings.back().record.recipe.seed = 1;
  const std::string html = run_body(data);
  expect_sound(html);
  EXPECT_NE(html.find("standard deviation"), std::string::npos);
  EXPECT_NE(html.find("seed 1"), std::string::npos);
}

TEST(Page, TheHeadlineOfSeedsIsTheirMean) {
  TrainingData data = training(5);
  data.trainings.push_back(trained(5));
  data.trainings.front().record.test_accuracy = 0.70;
  data.trainings.back().record.test_accuracy = 0.80;
  const std::string html = run_body(data);
  const std::string headline = html.substr(0, html.find("</dl>"));
  EXPECT_NE(headline.find("75.0 ± 7.1 %"), std::string::npos) << headline;
  EXPECT_NE(headline.find("mean of 2 seeds"), std::string::npos) << headline;
}

TEST(Page, MeansLeaveOutSeedsThatAreNotFinished) {
  TrainingData data = training(5);
  data.trainings.push_back(trained(5));
  data.trainings.push_back(trained(2));
  data.trainings[0].record.test_accuracy = 0.70;
  data.trainings[1].record.test_accuracy = 0.80;
  data.trainings[2].record.test_accuracy = 0.10;
  for (const auto status : {recipe::TrainingStatus::running, recipe::TrainingStatus::interrupted,
                            recipe::TrainingStatus::stopped}) {
    data.trainings[2].record.status = status;
    const std::string html = run_body(data);
    const std::string headline = html.substr(0, html.find("</dl>"));
    EXPECT_NE(headline.find("75.0 ± 7.1 %"), std::string::npos) << headline;
    EXPECT_NE(headline.find("mean of 2 finished seeds of 3"), std::string::npos) << headline;
    EXPECT_NE(html.find("test 75.0 ± 7.1 %, over 2 finished seeds of 3"), std::string::npos);
  }
  for (OneTraining& one : data.trainings) one.record.status = recipe::TrainingStatus::interrupted;
  const std::string html = run_body(data);
  EXPECT_NE(html.find("no seed has finished"), std::string::npos);
  EXPECT_EQ(html.find("standard deviation"), std::string::npos);
}

TEST(Page, AComparisonHasTheMeanOfSeeds) {
  TrainingData data = training(5);
  data.trainings.push_back(trained(5));
  data.trainings.front().record.test_accuracy = 0.70;
  data.trainings.back().record.test_accuracy = 0.80;
  const std::string html = comparison_body({data, training(5)});
  const std::string table = html.substr(0, html.find("</table>"));
  EXPECT_NE(table.find("75.0 ± 7.1 %"), std::string::npos) << table;
  EXPECT_NE(table.find("2 seeds"), std::string::npos) << table;
}

TEST(Page, ReadsAreComparedWithTheEpochThatTheyAreOf) {
  TrainingData data = training(2);
  launch::TrainingRecord& record = data.trainings.front().record;
  record.batches_run = 20;  // two epochs
  record.disk.reads = 1000;
  record.disk.seconds = 6;
  const std::string html = run_body(data);
  EXPECT_NE(html.find("reads, all threads: 3.0 s"), std::string::npos) << html;
}

TEST(Page, EveryFigureHasOneForAPhone) {
  const std::string html = run_body(training(20));
  const auto count = [&](std::string_view text) {
    size_t found = 0;
    for (size_t at = html.find(text); at != std::string::npos; at = html.find(text, at + 1))
      ++found;
    return found;
  };
  EXPECT_GT(count("<figure"), 3U);
  EXPECT_EQ(count("<figure"), count("viewBox=\"0 0 320 "));
}

TEST(Page, ManyRunsComparedStayBelowAMegabyte) {
  std::vector<RunData> runs;
  for (size_t i = 0; i < 40; ++i) runs.emplace_back(training(2000));
  const std::string html = document({.title = "x", .body = comparison_body(runs)});
  expect_sound(html);
  EXPECT_LT(html.size(), 1'000'000U);
  EXPECT_NE(html.find("are left out"), std::string::npos);
}

TEST(Page, AComparisonNamesWhatDiffers) {
  TrainingData other = training(3);
  other.trainings.front().record.recipe.hidden = 77;
  const std::string html = comparison_body({training(3), other});
  expect_sound(html);
  EXPECT_NE(html.find("<th scope=\"row\" class=\"text\">hidden</th>"), std::string::npos);
  EXPECT_EQ(html.find("<th scope=\"row\" class=\"text\">dropout</th>"), std::string::npos);
}

// Two configurations with two runs each, one of which failed.
BatchData batch() {
  BatchData data;
  data.found = {.kind = RunKind::batch, .name = kEvil, .path = "/runs/batch"};
  std::vector<answer::Outcome> outcomes;
  for (size_t i = 0; i < 4; ++i) {
    experiment::Experiment made{.number = i + 1, .folder = fmt::format("toy_{}", i)};
    made.training = {.repository = "toy", .model = "good", .values = {}};
    made.training.values.set("rate", experiment::Value{.number = i < 2 ? 0.1 : 0.001});
    made.training.values.set("kind", experiment::text_value(i % 2 == 0 ? kEvil : "plain"));
    made.configuration = experiment::describe(made.training.values);
    experiment::ExperimentResult result{.success = i != 3};
    result.last.cause = i != 3 ? diagnosis::Cause::success : diagnosis::Cause::timed_out;
    result.last.headline = kEvil;
    result.last.values = made.training.values;
    result.last.started = 1000 + 10 * static_cast<double>(i);
    result.last.seconds = 9;
    result.last.metrics["loss"] = experiment::Value{.number = 0.5 + static_cast<double>(i)};
    auto energy = std::make_shared<energy::EnergyReport>();
    energy->cpu.total = {.joules = 100.0 * static_cast<double>(i + 1),
                         .source = "powercap",
                         .coverage = 0.9,
                         .quality = energy::Quality::exclusive};
    result.last.energy = energy;
    data.queue.push_back(made);
    data.results.emplace_back(result);
    data.attempts.push_back({.experiment = i, .number = 1, .ended = true, .result = result.last});
    outcomes.push_back({made, result});
  }
  data.configurations = answer::group(outcomes, {}, {});
  data.configurations.metrics = {"loss"};
  return data;
}

TEST(Page, ABatchHasItsSections) {
  const std::string html = run_body(batch());
  expect_sound(html);
  for (const char* text : {"Results", "Energy", "Attempts and causes", "timed_out", "Queue",
                           "The queue over time", "place 1", "coverage"}) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
  }
}

TEST(Page, ABatchSaysWhatItsEnergyLeavesOut) {
  BatchData data = batch();
  auto unknown = std::make_shared<energy::EnergyReport>();
  unknown->cpu.total = energy::unavailable("powercap did not move");
  data.attempts[2].result.energy = unknown;
  const std::string html = run_body(data);
  expect_sound(html);
  for (const char* text : {"700 J in 3 attempts", "1 attempt without a figure",
                           "The first one: powercap did not move.", "toy_2: no figure"}) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
  }
}

TEST(Page, AnEmptyBatchIsAPage) {
  BatchData data;
  data.found.name = "empty";
  const std::string html = run_body(data);
  expect_sound(html);
  EXPECT_NE(html.find("Nothing has succeeded yet"), std::string::npos);
}

TEST(Page, ALogOfAJobIsEscaped) {
  expect_sound(run_body(JobLogData{.found = {.name = "x-1.log"}, .bytes = 9, .tail = kEvil}));
}

TEST(Page, AListEscapesNamesAndLinks) {
  const std::string html = list_body({{.name = kEvil, .path = "/x", .what = kEvil, .best = kEvil}},
                                     [](const FoundRun&) { return "/run?path=\"><script>"; });
  expect_sound(html);
}

TEST(Page, ADocumentHasLanguageTitleAndLandmarks) {
  const std::string html = document({.title = "a < b", .body = "<h1>x</h1>"});
  for (const char* text : {"<!DOCTYPE html>", "<html lang=\"en\">", "<title>a &lt; b</title>",
                           "<main id=\"main\">", "prefers-color-scheme:dark", "@media print"}) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace plimsoll::report
