#include "experiment/background_load.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"

namespace plimsoll::experiment {
namespace {

constexpr double kImmediateSeconds = 5;  // no training worth the name is over sooner
constexpr double kIdleCpuShare = 0.02;

}  // namespace

std::optional<std::string> idle_because(const ChildEnd& end, bool uses_gpus) {
  if (end.cause != "success") return fmt::format("it ended with {}: {}", end.cause, end.headline);
  if (end.seconds < kImmediateSeconds) {
    return fmt::format("it ended after {}", format_seconds(end.seconds));
  }
  if (!uses_gpus && end.cpu_seconds < kIdleCpuShare * end.seconds) {
    return fmt::format("it used {} of CPU in {}", format_seconds(end.cpu_seconds),
                       format_seconds(end.seconds));
  }
  return std::nullopt;
}

BackgroundLoad::BackgroundLoad(ChildOptions options, std::optional<uint64_t> most_runs)
    : options_(std::move(options)), most_runs_(most_runs) {
  start();
}

void BackgroundLoad::start() {
  ChildOptions options = options_;
  options.output_folder /= fmt::format("run_{}", ++runs_);
  std::filesystem::create_directories(options.output_folder);
  child_ = std::make_unique<SupervisedChild>(options);
}

std::optional<std::string> BackgroundLoad::look() {
  if (!child_ || !child_->ended()) return std::nullopt;
  const ChildEnd end = child_->end();
  child_.reset();
  const auto wrong = idle_because(end, !options_.gpus.empty());
  bad_runs_ = wrong ? bad_runs_ + 1 : 0;
  if (!invalid() && (!most_runs_ || runs_ < *most_runs_)) start();
  if (!wrong) return std::nullopt;
  return fmt::format("the background load is none: {} ({} in a row)", *wrong, bad_runs_);
}

}  // namespace plimsoll::experiment
