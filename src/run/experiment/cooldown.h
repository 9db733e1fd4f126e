// Waits between attempts until the GPUs are as cool and idle as when the batch began, so that no
// attempt pays for the heat of the one before. Pure: it works on readings and a clock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "meter/gpu.h"

namespace plimsoll::experiment {

// The state of a GPU that is compared.
struct GpuCalm {
  unsigned index = 0;
  std::optional<double> celsius;
  std::optional<double> watts;
};
std::vector<GpuCalm> calm_of(const std::vector<meter::GpuReading>& readings);

// As one line, for the journal. The function that parses it returns nothing for other text.
std::string to_text(const std::vector<GpuCalm>& gpus);
std::vector<GpuCalm> calm_from(const std::string& text);

// What keeps the GPUs from being as calm as they `began`: "GPU 0 has 61 °C, 42 °C when the batch
// began". Empty if nothing does. 2 °C and 5 % of the power (or 3 W) are tolerated.
std::string unrest(const std::vector<GpuCalm>& began, const std::vector<GpuCalm>& now);

constexpr double kLongestCooldown = 600;  // seconds; then the batch goes on

}  // namespace plimsoll::experiment
