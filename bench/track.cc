// What --log costs an epoch: the time of each log of a training, and of all four, as a share of the
// epoch. track [FOLDER] [EPOCHS] [SECONDS an epoch, 0.1]
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "track/step_log.h"

namespace {

namespace fs = std::filesystem;
using namespace plimsoll::track;  // NOLINT: a program of one file

StepLogOptions options_for(const fs::path& folder, LogKinds kinds) {
  return {.folder = folder,
          .kinds = std::move(kinds),
          .step_name = "epoch",
          .columns = {{"loss", "loss/train", "Loss."},
                      {"valid_acc", "accuracy/valid", "Accuracy."},
                      {"test_acc", "accuracy/test", "Accuracy."},
                      {"lr", "learning_rate", "Rate."},
                      {"seconds", "seconds/epoch", "Seconds."},
                      {"resident_bytes", "memory/resident_bytes", "Bytes."}},
          .settings = {{"model", std::string("gcn")}, {"hidden", 256.0}},
          .group = {},
          .final_tags = {"accuracy/valid"},
          .metric_prefix = "plimsoll_train_",
          .labels = {{"dataset", "papers100M"}, {"model", "gcn"}, {"folder", folder.string()}},
          .failed = {}};
}

struct Epochs {
  uint64_t count = 0;
  double seconds_each = 0;  // as the logs are told: nothing here waits for them
};

double microseconds_an_epoch(const fs::path& folder, const LogKinds& kinds, const Epochs& epochs) {
  StepLog log(options_for(folder, kinds), {}, 1.7e9);
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 1; i <= epochs.count; ++i) {
    log.add({.step = i,
             .time = 1.7e9 + epochs.seconds_each * static_cast<double>(i),
             .values = {1.0 / static_cast<double>(i), 0.51234, 0.50321, 0.01, 12.345, 2.1e8}});
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(epochs.count);
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path folder = argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path() / "track_bench";
  const Epochs epochs = {.count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5000,
                         .seconds_each = argc > 3 ? std::strtod(argv[3], nullptr) : 0.1};
  fs::create_directories(folder);
  const LogKinds all = {LogKind::tensorboard, LogKind::csv, LogKind::jsonl, LogKind::prometheus};
  for (const LogKind kind : all) {
    fmt::print("{:<12} {:7.1f} us per epoch\n", name(kind),
               microseconds_an_epoch(folder, {kind}, epochs));
  }
  const double together = microseconds_an_epoch(folder, all, epochs);
  fmt::print("{:<12} {:7.1f} us per epoch, {:.2f} % of an epoch of {:g} s\n", "together", together,
             together / epochs.seconds_each / 1e4, epochs.seconds_each);
  fs::remove_all(folder);
}
