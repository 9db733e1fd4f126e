// The machine that a batch runs on: its governor, whether its GPUs have cooled down, and its
// current use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::experiment {

// Sets the CPUs' frequency governor for the duration of a batch. The old governor is always
// restored: a small separate process waits for ours to end, for any reason, and restores it.
class Governor {
 public:
  // Does nothing if `name` is empty. The process must have only one thread, because this forks.
  // `cpus` is the kernel's folder; tests pass another one.
  explicit Governor(const std::string& name,
                    const std::filesystem::path& cpus = "/sys/devices/system/cpu");
  Governor(const Governor&) = delete;
  Governor& operator=(const Governor&) = delete;
  ~Governor();

  // Why it could not be set; empty on success.
  const std::string& obstacle() const { return obstacle_; }

 private:
  std::string obstacle_;
  Fd alive_;  // when it closes, the guard process restores the governor
  pid_t guard_ = 0;
};

// How warm and busy a GPU is. Between attempts a batch waits until the GPUs are as cool and idle as
// when it began, so that no attempt pays for the heat of the one before. Pure.
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

// The machine's current use.
struct MachineNow {
  std::vector<meter::GpuReading> gpus;
  uint64_t ram_used_bytes = 0;
  uint64_t ram_total_bytes = 0;
};

// Reads the machine's use; of the GPUs, the selected ones. For one thread.
class MachineWatch {
 public:
  explicit MachineWatch(gate::GpuSelection gpus) : gpus_(std::move(gpus)) {}
  MachineNow read();

  // Whether a GPU that one of these processes holds computes. If the driver does not report
  // utilisation, the GPU counts as busy: a load is not declared invalid without proof.
  bool compute_for(const std::vector<pid_t>& processes);

 private:
  std::vector<meter::GpuReading> gpus(bool with_holders);

  gate::GpuSelection gpus_;
  bool opened_ = false;
  meter::GpuAccess access_;
};

}  // namespace plimsoll::experiment
