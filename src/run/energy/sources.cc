#include "energy/sources.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/units.h"
#include "process/proc_stat.h"

namespace plimsoll::energy {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double cpu_seconds_of(int who) {
  rusage use{};
  getrusage(who, &use);
  return seconds_of(use.ru_utime) + seconds_of(use.ru_stime);
}

}  // namespace

double own_cpu_seconds() { return cpu_seconds_of(RUSAGE_SELF) + cpu_seconds_of(RUSAGE_CHILDREN); }

double other_cpu_seconds(const CpuUse& use) {
  return std::max(0.0, use.host_seconds.value_or(0) - use.own_seconds);
}

std::string cpu_shared_because(const CpuUse& use) {
  if (!use.host_seconds) {
    return "/proc/stat cannot be read, so the CPU time of other processes is unknown";
  }
  const double others = other_cpu_seconds(use);
  const bool counts = others > kOthersSeconds && others > kOthersCpus * use.seconds &&
                      others > kOthersShare * *use.host_seconds;
  if (!counts) return "";
  return fmt::format("other processes used {:.2f} s of CPU time, the run {:.2f} s", others,
                     use.own_seconds);
}

namespace {

template <typename Clock>
double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

void open_gpus(const GpuChoice& choice, Sources& sources) try {
  sources.no_gpus_because = choice.none_because;
  if (!choice.none_because.empty()) return;
  meter::GpuAccess access = meter::open_gpus();
  sources.no_gpus_because = access.missing_because;
  if (!access.gpus) return;
  const auto all = access.gpus->read_counters();
  for (const std::string& uuid : choice.uuids) {
    const auto found = std::ranges::find(all, uuid, &meter::GpuReading::uuid);
    if (found == all.end()) continue;
    sources.devices.push_back({.index = found->index, .uuid = uuid, .name = found->name});
  }
  if (sources.devices.empty()) sources.no_gpus_because = "no GPU was chosen";
  if (!sources.devices.empty()) sources.gpus = std::move(access.gpus);
} catch (const Error& error) {
  sources.devices.clear();
  sources.no_gpus_because = error.what();
}

}  // namespace

bool descends_from(pid_t pid, pid_t ancestor) {
  while (pid > 0 && pid != ancestor) {
    const auto stat = process::read_stat(pid);
    pid = stat ? stat->parent : 0;
  }
  return pid == ancestor;
}

bool any(const Sources& sources) {
  return !sources.cpu.domains().empty() || !sources.devices.empty();
}

std::string describe(const Sources& sources) {
  const CpuCounters& cpu = sources.cpu;
  std::string text = "energy: CPU ";
  text += cpu.source().empty() ? fmt::format("unavailable ({})", cpu.missing_because())
                               : "by " + cpu.source();
  if (sources.devices.empty()) {
    return text + fmt::format("; GPU unavailable ({})", sources.no_gpus_because);
  }
  text += "; GPU ";
  for (const GpuDevice& device : sources.devices) {
    text += fmt::format("{}{}", &device == &sources.devices.front() ? "" : ", ", device.index);
  }
  return text + " by NVML";
}

Sources open_sources(const GpuChoice& choice) {
  Sources sources{.cpu = CpuCounters::open(),
                  .gpus = nullptr,
                  .devices = {},
                  .no_gpus_because = {},
                  .is_ours = [me = getpid()](pid_t pid) { return descends_from(pid, me); },
                  .own_cpu_seconds = own_cpu_seconds,
                  .now = seconds_now<std::chrono::steady_clock>,
                  .epoch = seconds_now<std::chrono::system_clock>};
  open_gpus(choice, sources);
  return sources;
}

}  // namespace plimsoll::energy
