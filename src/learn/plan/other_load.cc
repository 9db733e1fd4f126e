#include "plan/other_load.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include "plan/rate.h"

namespace plimsoll::plan {
namespace {

// Something always runs: a shell, a daemon, the kernel's own threads.
constexpr double kQuietCores = 0.15;
constexpr double kQuietShare = 0.05;  // of all CPUs, if that is more

}  // namespace

std::optional<double> worked_seconds(std::string_view stat, double ticks_per_second) {
  std::istringstream line{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  // user nice system idle iowait irq softirq steal; a guest's time is part of the user's.
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double waiting = 0;
  double irq = 0;
  double softirq = 0;
  double steal = 0;
  line >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq;
  if (!line || name != "cpu" || ticks_per_second <= 0) return {};
  line >> steal;  // old kernels have none
  return (user + nice + system + irq + softirq + steal) / ticks_per_second;
}

OtherLoad::OtherLoad(memory::Host host) : host_(std::move(host)), start_(look()) {}

OtherLoad::Moment OtherLoad::look() const {
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {worked_seconds(memory::read_text(host_.root / "proc/stat").value_or(""), ticks),
          process_cpu_seconds(), steady_seconds()};
}

double OtherLoad::cores() const {
  const Moment end = look();
  if (!end.all || !start_.all || end.now <= start_.now) return 0;
  const double others = (*end.all - *start_.all) - (end.own - start_.own);
  return std::max(0.0, others / (end.now - start_.now));
}

bool spoils(double other_cores, unsigned cpus) {
  return other_cores > std::max(kQuietCores, kQuietShare * cpus);
}

}  // namespace plimsoll::plan
