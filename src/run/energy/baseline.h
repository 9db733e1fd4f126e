// What a run's energy is compared with: the power of the idle machine, and which other processes
// used its GPUs.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "energy/report.h"
#include "meter/gpu.h"

namespace plimsoll::energy {

// Detects other users of one GPU while it is measured. Call it from time to time; it keeps the
// first reason.
class Neighbours {
 public:
  using IsOurs = std::function<bool(pid_t)>;

  // Call this one before the run uses the GPU. Memory that no listed process explains then belongs
  // to others too: inside a container the driver lists no processes.
  void look_before(const meter::GpuReading& gpu, const IsOurs& is_ours);
  void look(const meter::GpuReading& gpu, const IsOurs& is_ours);

  // Empty if no other process used the GPU.
  const std::string& shared_because() const { return reason_; }

 private:
  std::string reason_;
  std::set<pid_t> unknown_;  // pids of the last look that are not visible in this pid namespace
};

struct GpuBaseline {
  std::string uuid;
  std::optional<double> counter_watts;
  std::optional<double> integral_watts;
};

// The power of the idle machine, measured before a batch. A run's net energy is what it used beyond
// this.
struct Baseline {
  double measured_at = 0;  // seconds since 1970
  double seconds = 0;
  std::optional<double> package_watts;
  std::optional<double> memory_watts;
  std::vector<GpuBaseline> gpus;
  std::string disturbed_because;  // set if the machine was not idle: net figures are then too low
};

Baseline baseline_of(const EnergyReport& idle, double measured_at);

// Fills in the net figures. Each is the gross figure minus the idle power of the same source over
// the time that the figure covers.
void subtract(const Baseline& baseline, EnergyReport& report);

// One line for messages.
std::string describe(const Baseline& baseline);

// Saves it in the run's folder, so that a resumed batch uses the same. Throws Error{io, disk}.
void save(const Baseline& baseline, const std::filesystem::path& file);
// Parses what save() wrote; throws Error{input} with `name` for any other text.
Baseline baseline_from(std::string_view text, std::string_view name);
// Nothing if the file does not exist.
std::optional<Baseline> load_baseline(const std::filesystem::path& file);

}  // namespace plimsoll::energy
