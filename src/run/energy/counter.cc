#include "energy/counter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "meter/cpu_power.h"

namespace plimsoll::energy {

bool RisingCounter::is_known(double seconds, uint64_t delta) const {
  if (range_ == 0) return true;
  const double most = kMostWatts * std::max(seconds, 1.0);
  const bool may_have_wrapped_twice =
      kMostWatts * seconds >= static_cast<double>(range_) * joules_per_count_;
  return !may_have_wrapped_twice && static_cast<double>(delta) * joules_per_count_ <= most;
}

Cumulative RisingCounter::add(double at, uint64_t count) {
  if (last_) {
    const bool fell = count < *last_;
    const uint64_t delta = fell && range_ == 0 ? 0 : meter::energy_between(*last_, count, range_);
    if ((fell && range_ == 0) || !is_known(at - last_at_, delta)) {
      ++now_.segment;
    } else {
      now_.joules += static_cast<double>(delta) * joules_per_count_;
    }
  }
  last_ = count;
  last_at_ = at;
  return now_;
}

void CounterSum::add(double at, const Cumulative& reading) {
  just_broke_ = last_ && last_->segment != reading.segment;
  if (just_broke_) {
    ++breaks_;
    broke_seconds_ = at - last_at_;
  } else if (last_) {
    joules_ += reading.joules - last_->joules;
    covered_seconds_ += at - last_at_;
  }
  last_ = reading;
  last_at_ = at;
}

void CounterSum::bridge(double joules, double seconds) {
  joules_ += joules;
  covered_seconds_ += seconds;
}

namespace {

constexpr double kJoulesPerMicrojoule = 1e-6;

// All domains, or why one cannot be opened: a sum without one of the packages would be wrong.
struct Opened {
  std::vector<CpuCounters::Domain> domains;
  std::string obstacle;
};

Opened open_powercap(const Host& host) {
  Opened opened;
  for (const meter::EnergyZone& zone : meter::energy_zones(host)) {
    const std::string file = (zone.folder / "energy_uj").string();
    Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return {.domains = {}, .obstacle = fmt::format("{}: {}", file, std::strerror(errno))};
    if (!zone.microjoules) {
      return {.domains = {}, .obstacle = fmt::format("{}: {}", file, zone.unreadable_because)};
    }
    opened.domains.push_back(
        {.name = zone.name,
         .file = file,
         .is_memory = zone.name == "dram",
         .is_event = false,
         .joules_per_count = kJoulesPerMicrojoule,
         .fd = std::move(fd),
         .counter = RisingCounter(kJoulesPerMicrojoule, zone.range_microjoules)});
  }
  if (opened.domains.empty()) {
    opened.obstacle =
        fmt::format("there is no {}", (meter::powercap_folder(host) / "intel-rapl:0").string());
  }
  return opened;
}

Opened open_perf(const Host& host, const CpuCounters::OpenEvent& open_event) {
  const meter::PowerEvents found = meter::power_events(host);
  Opened opened{.domains = {}, .obstacle = found.missing_because};
  for (const meter::PowerEvent& event : found.events) {
    const std::string name = fmt::format("{} of CPU {}", event.name, event.cpu);
    Fd fd = open_event(event);
    if (!fd) {
      const std::string why = std::strerror(errno);
      const auto paranoid = read_text(host.root / "proc/sys/kernel/perf_event_paranoid");
      const auto level = paranoid.value_or("unknown");
      return {.domains = {},
              .obstacle = fmt::format("perf_event_open for {}: {} (perf_event_paranoid {})", name,
                                      why, level.substr(0, level.find('\n')))};
    }
    opened.domains.push_back({.name = name,
                              .file = name,
                              .is_memory = event.name == "energy-ram",
                              .is_event = true,
                              .joules_per_count = event.joules_per_count,
                              .fd = std::move(fd),
                              .counter = RisingCounter(event.joules_per_count, 0)});
  }
  return opened;
}

// If it returns nothing, errno says why; 0 means that the file contains no number.
std::optional<uint64_t> read_count(const CpuCounters::Domain& domain) {
  errno = 0;
  if (domain.is_event) {
    uint64_t count = 0;
    if (::read(domain.fd.get(), &count, sizeof count) != sizeof count) return {};
    return count;
  }
  std::array<char, 32> text;
  const ssize_t size = pread(domain.fd.get(), text.data(), text.size(), 0);
  if (size <= 0) return {};
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + size, count);
  if (error != std::errc() || end == text.data()) return {};
  return count;
}

}  // namespace

CpuCounters CpuCounters::open(const Host& host, const OpenEvent& open_event) {
  CpuCounters counters;
  Opened powercap = open_powercap(host);
  if (powercap.obstacle.empty()) {
    counters.source_ = "powercap";
    counters.domains_ = std::move(powercap.domains);
    return counters;
  }
  Opened perf = open_perf(host, open_event);
  if (perf.obstacle.empty()) {
    counters.source_ = "perf";
    counters.domains_ = std::move(perf.domains);
    return counters;
  }
  counters.missing_because_ = fmt::format("{}; {}", powercap.obstacle, perf.obstacle);
  return counters;
}

std::vector<std::optional<Cumulative>> CpuCounters::read(double at) {
  std::vector<std::optional<Cumulative>> readings;
  readings.reserve(domains_.size());
  for (Domain& domain : domains_) {
    readings.emplace_back();
    if (const auto count = read_count(domain)) {
      readings.back() = domain.counter.add(at, *count);
    } else {
      read_failure_ = fmt::format("{}: {}", domain.file,
                                  errno == 0 ? "it holds no number" : std::strerror(errno));
    }
  }
  return readings;
}

}  // namespace plimsoll::energy
