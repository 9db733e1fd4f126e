#include "energy/cpu_time.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/units.h"

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
  if (!use.host_seconds) return "/proc/stat cannot be read: others cannot be told from it";
  const double others = other_cpu_seconds(use);
  const bool counts = others > kOthersSeconds && others > kOthersCpus * use.seconds &&
                      others > kOthersShare * *use.host_seconds;
  if (!counts) return "";
  return fmt::format("other processes used {:.2f} s of CPU time, it {:.2f} s", others,
                     use.own_seconds);
}

}  // namespace plimsoll::energy
