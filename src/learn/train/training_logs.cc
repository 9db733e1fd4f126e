#include "train/training_logs.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

#include "base/host.h"
#include "recipe/recipe.h"

namespace plimsoll::train {
namespace {

using track::LogKind;

double or_none(const std::optional<double>& value) { return value.value_or(std::nan("")); }

std::vector<track::LogColumn> log_columns() {
  return {{"loss", "loss/train", "Mean loss over the training nodes of the epoch."},
          {"valid_acc", "accuracy/valid", "Accuracy on the validation nodes."},
          {"test_acc", "accuracy/test", "Accuracy on the test nodes."},
          {"lr", "learning_rate", "Learning rate of the epoch."},
          {"seconds", "seconds/epoch", "Duration of the epoch with its evaluation, in seconds."},
          {"resident_bytes", "memory/resident_bytes", "Memory of the process after the epoch."}};
}

// The recipe as TensorBoard's hyperparameters. The epochs are left out: a resumed run may have
// more, and is the same run.
std::vector<track::LoggedSetting> settings_of(const recipe::Recipe& recipe) {
  std::vector<track::LoggedSetting> settings;
  const auto json = recipe::to_json(recipe);
  for (const auto& [name, value] : json.items()) {
    if (name == "epochs" || name == "fanout") continue;
    if (value.is_boolean()) {
      settings.push_back({name, value.get<bool>()});
    } else if (value.is_number()) {
      settings.push_back({name, value.get<double>()});
    } else if (value.is_string()) {
      settings.push_back({name, value.get<std::string>()});
    }
  }
  settings.push_back({"fanout", recipe::format_fanout(recipe.fanout)});
  return settings;
}

constexpr const char* kBestTrain = "best/train_acc";
constexpr const char* kBestValid = "best/valid_acc";
constexpr const char* kBestTest = "best/test_acc";

}  // namespace

std::unique_ptr<track::StepLog> open_logs(const TrainJob& job, const std::string& dataset,
                                          const std::vector<EpochResult>& series,
                                          const std::function<void(const std::string&)>& note) {
  track::LogKinds kinds = job.logs;
  if (job.resume) kinds.merge(track::logs_in(job.save_dir));
  if (kinds.empty()) return nullptr;
  std::vector<track::LogStep> past;
  past.reserve(series.size());
  for (const EpochResult& result : series) past.push_back(log_step(result, 0));
  const std::string folder =
      std::filesystem::weakly_canonical(job.save_dir).lexically_normal().string();
  return std::make_unique<track::StepLog>(
      track::StepLogOptions{.folder = job.save_dir,
                            .kinds = kinds,
                            .step_name = "epoch",
                            .columns = log_columns(),
                            .settings = settings_of(job.recipe),
                            .group = {},
                            .final_tags = {kBestValid, kBestTest, kBestTrain, "loss/train"},
                            .metric_prefix = "plimsoll_train_",
                            .labels = {{"dataset", dataset},
                                       {"model", std::string(name(job.recipe.model))},
                                       {"folder", folder}},
                            .failed = note},
      past, seconds_since_1970());
}

track::LogStep log_step(const EpochResult& result, uint64_t resident_bytes) {
  return {.step = result.epoch,
          .time = seconds_since_1970(),
          .values = {result.loss, or_none(result.valid_accuracy), or_none(result.test_accuracy),
                     result.lr, result.seconds,
                     resident_bytes == 0 ? std::nan("") : static_cast<double>(resident_bytes)}};
}

track::StepLog::Ending log_ending(const Results& results) {
  track::StepLog::Ending ending{.state = std::string(name(results.status)),
                                .over = results.status != Status::stopped,
                                .success = true,
                                .results = {},
                                .time = seconds_since_1970()};
  const auto add = [&](const char* tag, const std::optional<double>& value) {
    if (value) ending.results.push_back({tag, *value});
  };
  add(kBestTrain, results.train_accuracy);
  add(kBestValid, results.valid_accuracy);
  add(kBestTest, results.test_accuracy);
  return ending;
}

}  // namespace plimsoll::train
