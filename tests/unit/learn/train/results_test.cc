#include "train/results.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "graph/tiny_store.h"
#include "temp_folder.h"

namespace plimsoll::train {
namespace {

using nlohmann::json;

TEST(RankFigures, SurviveBeingSentAsText) {
  const RankFigures figures = {.rank = 3,
                               .host = "n\"7",
                               .device = "cpu",
                               .batches_per_second = 12.5,
                               .adding_up_ms = 0.25,
                               .peak_memory_bytes = uint64_t{1} << 40,
                               .shared_bytes = 7,
                               .reads = 8,
                               .read_bytes = 9};
  EXPECT_EQ(to_text(parse_figures(to_text(figures))), to_text(figures));
  EXPECT_EQ(parse_figures(to_text(figures)).host, figures.host);
}

TEST(RankFigures, OfAnotherKindAreAnErrorAndNoCrash) {
  const std::string brackets(400'000, '[');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"rank\": -1}"),
        std::string("{\"rank\": 1}"), brackets + std::string(brackets.size(), ']')}) {
    expect_error(ErrorKind::input, {"the figures of a rank"}, [&] { parse_figures(text); });
  }
}

Results sample() {
  return {.dataset = "tiny",
          .parameters = 1234,
          .best_epoch = 2,
          .train_accuracy = 0.75,
          .valid_accuracy = 0.5,
          .test_accuracy = 0.25,
          .training_seconds = 12.5,
          .timestamp = "2024-05-17T09:30:00+02:00",
          .status = Status::early_stopped,
          .series = {{.epoch = 1, .loss = 1.5, .seconds = 6, .lr = 0.01},
                     {.epoch = 2,
                      .loss = 1.25,
                      .valid_accuracy = 0.5,
                      .test_accuracy = 0.25,
                      .seconds = 6.5,
                      .lr = 0.005}},
          .peak_memory_bytes = 1 << 20,
          .store_checksum = "0123456789abcdef",
          .device = "cpu",
          .batches_per_second = 61.7};
}

TEST(Results, HaveTheKeysThatScriptsRead) {
  const json results = json::parse(to_text(sample()));
  EXPECT_EQ(results["dataset"], "tiny");
  EXPECT_EQ(results["model"], "gcn");
  EXPECT_EQ(results["hidden_dim"], 256);
  EXPECT_EQ(results["num_params"], 1234);
  EXPECT_EQ(results["best_epoch"], 2);
  EXPECT_EQ(results["train_acc"], 0.75);
  EXPECT_EQ(results["valid_acc"], 0.5);
  EXPECT_EQ(results["test_acc"], 0.25);
  EXPECT_EQ(results["training_time"], 12.5);
  EXPECT_EQ(results["epochs"], 100);
  EXPECT_EQ(results["lr"], 0.01);
  EXPECT_EQ(results["dropout"], 0.5);
  EXPECT_EQ(results["weight_decay"], 0);
  EXPECT_EQ(results["batch_size"], 1024);
  EXPECT_EQ(results["num_neighbors"], json::parse("[15, 10]"));
  EXPECT_EQ(results["timestamp"], "2024-05-17T09:30:00+02:00");
}

TEST(Results, TellHowTheRunWent) {
  const json results = json::parse(to_text(sample()));
  EXPECT_EQ(results["status"], "early stopped");
  EXPECT_EQ(results["epochs_run"], 2);
  EXPECT_EQ(results["seed"], 0);
  EXPECT_EQ(results["device"], "cpu");
  EXPECT_EQ(results["batches_per_second"], 61.7);
  EXPECT_EQ(results["peak_memory_bytes"], 1 << 20);
  EXPECT_EQ(results["store_checksum"], "0123456789abcdef");
  EXPECT_EQ(results["recipe"], json(recipe::to_json(recipe::Recipe())));
  EXPECT_EQ(results["series"][0],
            json::parse(R"({"epoch": 1, "loss": 1.5, "valid_acc": null, "test_acc": null,
                            "seconds": 6.0, "lr": 0.01})"));
  EXPECT_EQ(results["series"][1]["valid_acc"], 0.5);
}

TEST(Results, SayNullForWhatIsNotANumber) {
  Results results = sample();
  results.test_accuracy = std::nullopt;
  results.valid_accuracy = std::nan("");
  results.batches_per_second = std::numeric_limits<double>::infinity();
  results.series[0].loss = std::nan("");
  const json written = json::parse(to_text(results));
  EXPECT_TRUE(written["test_acc"].is_null());
  EXPECT_TRUE(written["valid_acc"].is_null());
  EXPECT_TRUE(written["batches_per_second"].is_null());
  EXPECT_TRUE(written["series"][0]["loss"].is_null());
}

// The series is written epoch by epoch, and reads as if it were written at once.
TEST(Results, AreIndentedAsAWhole) {
  Results results = sample();
  const auto expect_indented = [&] {
    const std::string text = to_text(results);
    EXPECT_EQ(text, nlohmann::ordered_json::parse(text).dump(2) + "\n");
  };
  expect_indented();
  results.series.clear();
  expect_indented();
}

TEST(Results, TakeNoMoreTextThanTheySay) {
  Results results = sample();
  const uint64_t head = to_text(results).size();
  const double longest = -std::numeric_limits<double>::denorm_min() * 1234567;
  results.series.assign(1000, {.epoch = UINT64_MAX,
                               .loss = longest,
                               .valid_accuracy = longest,
                               .test_accuracy = longest,
                               .seconds = longest,
                               .lr = longest});
  EXPECT_LE(to_text(results).size(), text_bytes(results));
  EXPECT_LE(to_text(results).size() - head, text_bytes(results) - text_bytes(sample()));
}

TEST(HasResults, KnowsWhetherTheFileIsOfThisRun) {
  memory::Ledger ledger(1 * kMiB);
  const TempFolder folder;
  EXPECT_FALSE(has_results(folder.path(), 2, 2));
  write_results(folder.path(), sample(), ledger);
  EXPECT_TRUE(has_results(folder.path(), 2, 2));
  EXPECT_FALSE(has_results(folder.path(), 3, 2));
  EXPECT_FALSE(has_results(folder.path(), 2, 1));
}

TEST(WriteResults, ReplacesTheFileAndLeavesNothingElse) {
  memory::Ledger ledger(1 * kMiB);
  const TempFolder folder;
  write_file(folder / "results.json", "old");
  write_results(folder.path(), sample(), ledger);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"results.json"});
  EXPECT_EQ(json::parse(read_file(folder / "results.json"))["best_epoch"], 2);
}

TEST(HasResults, OfSomethingElseIsNoCrashAndFalse) {
  memory::Ledger ledger(1 * kMiB);
  const TempFolder folder;
  EXPECT_FALSE(has_results(folder.path(), 2, 2));
  write_results(folder.path(), sample(), ledger);
  EXPECT_TRUE(has_results(folder.path(), 2, 2));
  EXPECT_FALSE(has_results(folder.path(), 3, 2));
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("7"), "{\"status\":" + deep + "}"}) {
    write_file(folder / "results.json", text);
    EXPECT_FALSE(has_results(folder.path(), 2, 2));
  }
}

TEST(WriteResults, NamesTheFileThatItCannotWrite) {
  memory::Ledger ledger(1 * kMiB);
  const TempFolder folder;
  expect_error(ErrorKind::io, {"missing/results.json"},
               [&] { write_results(folder / "missing", sample(), ledger); });
}

TEST(StoreChecksum, CoversEveryFile) {
  const TempFolder folder;
  graph::write_store(folder / "a.plim", {});
  graph::write_store(folder / "b.plim", {});
  graph::write_store(folder / "c.plim", {.labels = {0, 1, -1, 0}});
  const std::string checksum = graph::store_checksum(graph::open(folder / "a.plim"));
  EXPECT_EQ(checksum.size(), 16);
  EXPECT_EQ(graph::store_checksum(graph::open(folder / "b.plim")), checksum);
  EXPECT_NE(graph::store_checksum(graph::open(folder / "c.plim")), checksum);
}

TEST(DatasetName, IsTheSourcesOrTheFolders) {
  const TempFolder folder;
  graph::write_store(folder / "a.plim", {});
  graph::Meta nameless = graph::meta_of({});
  nameless.source = nullptr;
  graph::write_store(folder / "b.plim", {}, nameless);
  EXPECT_EQ(graph::dataset_name(graph::open(folder / "a.plim")), "tiny");
  EXPECT_EQ(graph::dataset_name(graph::open(folder / "b.plim/")), "b");
}

TEST(Timestamp, IsIso8601WithItsZone) {
  const std::string text = timestamp(std::chrono::system_clock::time_point());
  ASSERT_EQ(text.size(), 25) << text;
  EXPECT_EQ(text.substr(10, 1), "T");
  EXPECT_TRUE(text[19] == '+' || text[19] == '-') << text;
}

}  // namespace
}  // namespace plimsoll::train
