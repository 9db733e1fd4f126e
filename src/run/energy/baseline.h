// What a measured run is compared with: the idle machine, and who else was on its GPUs.
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

// Who else was on a GPU while it was measured.

// Of one GPU; asked from time to time. Keeps the first reason.
class Neighbours {
 public:
  using IsOurs = std::function<bool(pid_t)>;

  // Before anything of ours is on it, memory that nobody is listed for is somebody else's, too:
  // inside a container the driver lists nobody.
  void look_before(const meter::GpuReading& gpu, const IsOurs& is_ours);
  void look(const meter::GpuReading& gpu, const IsOurs& is_ours);

  // Empty where nobody was.
  const std::string& shared_because() const { return reason_; }

 private:
  std::string reason_;
  std::set<pid_t> unknown_;  // pids of the last look that this pid namespace does not show
};

// What the machine takes when nothing of ours runs, measured before a batch: what a run took beyond
// that is its net energy.

struct GpuBaseline {
  std::string uuid;
  std::optional<double> counter_watts;
  std::optional<double> integral_watts;
};

struct Baseline {
  double measured_at = 0;  // seconds since 1970
  double seconds = 0;
  std::optional<double> package_watts;
  std::optional<double> memory_watts;
  std::vector<GpuBaseline> gpus;
  std::string disturbed_because;  // somebody was at work meanwhile: the net figures are too low
};

Baseline baseline_of(const EnergyReport& idle, double measured_at);

// Fills in the net figures. Each is less the idle power over the time that the figure covers, of
// the same source.
void subtract(const Baseline& baseline, EnergyReport& report);

// One line for people.
std::string describe(const Baseline& baseline);

// In the run's folder, so that a resumed batch has the same. Throws Error{io, disk}.
void save(const Baseline& baseline, const std::filesystem::path& file);
// What save() wrote; throws Error{input} with `name` for any other text.
Baseline baseline_from(std::string_view text, std::string_view name);
// Nothing where there is no such file.
std::optional<Baseline> load_baseline(const std::filesystem::path& file);

}  // namespace plimsoll::energy
