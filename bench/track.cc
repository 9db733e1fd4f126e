// What --log costs an epoch: the time of all four logs of a training, and the bytes and system
// calls that make it up. track [FOLDER] [EPOCHS]
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

double microseconds_an_epoch(const fs::path& folder, const LogKinds& kinds, uint64_t epochs) {
  StepLog log(options_for(folder, kinds), {}, 1.7e9);
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 1; i <= epochs; ++i) {
    log.add({.step = i,
             .time = 1.7e9 + static_cast<double>(i),
             .values = {1.0 / static_cast<double>(i), 0.51234, 0.50321, 0.01, 12.345, 2.1e8}});
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(epochs);
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path folder = argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path() / "track_bench";
  const uint64_t epochs = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5000;
  fs::create_directories(folder);
  const LogKinds all = {LogKind::tensorboard, LogKind::csv, LogKind::jsonl, LogKind::prometheus};
  for (const LogKind kind : all) {
    fmt::print("{:<12} {:7.1f} us per epoch\n", name(kind),
               microseconds_an_epoch(folder, {kind}, epochs));
  }
  const double together = microseconds_an_epoch(folder, all, epochs);
  fmt::print("{:<12} {:7.1f} us per epoch, which is 0.5 % of an epoch of {:.1f} ms\n", "together",
             together, together / 5);
  fs::remove_all(folder);
}
