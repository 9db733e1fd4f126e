#include "experiment/cooldown.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace plimsoll::experiment {
namespace {

constexpr double kCelsiusTolerated = 2;
constexpr double kPowerTolerated = 0.05;
constexpr double kWattsTolerated = 3;
constexpr double kUnread = -1;

}  // namespace

std::vector<GpuCalm> calm_of(const std::vector<meter::GpuReading>& readings) {
  std::vector<GpuCalm> gpus;
  for (const meter::GpuReading& reading : readings) {
    GpuCalm gpu{.index = reading.index, .celsius = {}, .watts = reading.power_watts};
    if (reading.temperature_celsius) gpu.celsius = *reading.temperature_celsius;
    gpus.push_back(gpu);
  }
  return gpus;
}

std::string to_text(const std::vector<GpuCalm>& gpus) {
  std::string text;
  for (const GpuCalm& gpu : gpus) {
    text += fmt::format("{} {} {}\n", gpu.index, gpu.celsius.value_or(kUnread),
                        gpu.watts.value_or(kUnread));
  }
  return text;
}

std::vector<GpuCalm> calm_from(const std::string& text) {
  std::vector<GpuCalm> gpus;
  std::istringstream lines(text);
  GpuCalm gpu;
  double celsius = 0;
  double watts = 0;
  while (lines >> gpu.index >> celsius >> watts) {
    gpu.celsius = celsius == kUnread ? std::nullopt : std::optional(celsius);
    gpu.watts = watts == kUnread ? std::nullopt : std::optional(watts);
    gpus.push_back(gpu);
  }
  return gpus;
}

std::string unrest(const std::vector<GpuCalm>& began, const std::vector<GpuCalm>& now) {
  for (const GpuCalm& gpu : now) {
    const auto before = std::find_if(
        began.begin(), began.end(), [&](const GpuCalm& other) { return other.index == gpu.index; });
    if (before == began.end()) continue;
    if (gpu.celsius && before->celsius && *gpu.celsius > *before->celsius + kCelsiusTolerated) {
      return fmt::format("GPU {} has {:.0f} °C, {:.0f} °C when the batch began", gpu.index,
                         *gpu.celsius, *before->celsius);
    }
    if (!gpu.watts || !before->watts) continue;
    const double tolerated = std::max(kWattsTolerated, kPowerTolerated * *before->watts);
    if (*gpu.watts > *before->watts + tolerated) {
      return fmt::format("GPU {} takes {:.0f} W, {:.0f} W when the batch began", gpu.index,
                         *gpu.watts, *before->watts);
    }
  }
  return "";
}

}  // namespace plimsoll::experiment
