#include "experiment/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/host.h"
#include "gate/policy.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using CpuSettings = std::map<fs::path, std::string>;

CpuSettings settings_now(const fs::path& cpus) {
  CpuSettings now;
  std::error_code none;
  for (const auto& cpu : fs::directory_iterator(cpus, none)) {
    const fs::path file = cpu.path() / "cpufreq/scaling_governor";
    if (auto text = read_text(file)) now[file] = *text;
  }
  return now;
}

bool write_text(const fs::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  return static_cast<bool>(stream);
}

// Waits until the other end of `alive` is closed, which happens when the driver ends. Then restores
// the governors.
[[noreturn]] void guard(const Fd& alive, const CpuSettings& before) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  char nothing = 0;
  while (read(alive.get(), &nothing, 1) < 0 && errno == EINTR) {
  }
  for (const auto& [file, text] : before) write_text(file, text);
  _exit(0);
}

}  // namespace

Governor::Governor(const std::string& name, const fs::path& cpus) {
  if (name.empty()) return;
  const CpuSettings before = settings_now(cpus);
  if (before.empty()) {
    obstacle_ = fmt::format("the governor {} cannot be set: this machine has no cpufreq", name);
    return;
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const Fd guarded(ends[0]);
  alive_ = Fd(ends[1]);
  guard_ = fork();
  if (guard_ == 0) {
    alive_ = Fd();
    guard(guarded, before);
  }
  for (const auto& [file, text] : before) {
    if (write_text(file, name)) continue;
    obstacle_ = fmt::format(
        "the governor {} cannot be set: {} cannot be written; it needs root, and a governor that "
        "this CPU supports",
        name, file.string());
    return;
  }
}

Governor::~Governor() {
  alive_ = Fd();
  while (guard_ > 0 && waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

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

// Empty if there is no GPU driver or it fails now: that must not fail a batch.
std::vector<meter::GpuReading> MachineWatch::gpus(bool with_holders) {
  if (!std::exchange(opened_, true) && gpus_.wants_gpus()) access_ = meter::open_gpus();
  if (!access_.gpus) return {};
  try {
    return gate::choose_gpus(gpus_,
                             with_holders ? access_.gpus->read() : access_.gpus->read_counters(),
                             Host::real().variable("CUDA_VISIBLE_DEVICES"));
  } catch (const Error&) {
    access_.gpus.reset();
    return {};
  }
}

bool MachineWatch::compute_for(const std::vector<pid_t>& processes) {
  const auto is_one_of_them = [&](const meter::GpuHolder& holder) {
    return std::find(processes.begin(), processes.end(), holder.pid) != processes.end();
  };
  const auto all = gpus(true);
  return std::any_of(all.begin(), all.end(), [&](const meter::GpuReading& gpu) {
    return gpu.utilisation_percent.value_or(1) > 0 &&
           std::any_of(gpu.holders.begin(), gpu.holders.end(), is_one_of_them);
  });
}

MachineNow MachineWatch::read() {
  MachineNow now{.gpus = gpus(false)};
  const MemInfo memory = read_meminfo();
  now.ram_total_bytes = memory.total_bytes.value_or(0);
  now.ram_used_bytes = now.ram_total_bytes - memory.available_bytes.value_or(0);
  return now;
}

}  // namespace plimsoll::experiment
