#include "memory/pressure.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "memory/usage.h"

namespace plimsoll::memory {
namespace {

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1200223\nfull ...": its total.
std::optional<uint64_t> read_stall_us(const std::filesystem::path& path) {
  constexpr std::string_view kTotal = " total=";
  const std::string text = read_text(path).value_or("");
  const std::string_view some = std::string_view(text).substr(0, text.find('\n'));
  const size_t total = some.find(kTotal);
  if (!some.starts_with("some ") || total == std::string_view::npos) return {};
  return leading_number(some.substr(total + kTotal.size()));
}

// The kernel's root group says what the host says; it is the one without a type.
bool is_root(const CgroupLevel& level) {
  std::error_code ignored;
  return !std::filesystem::exists(level.folder / "cgroup.type", ignored);
}

// What a reading says of all bounds together.
struct Standing {
  bool known = false;         // there is a bound at all
  int64_t lacking_bytes = 0;  // of the one that lacks most; 0 where each has its reserve
  int64_t spare_bytes = std::numeric_limits<int64_t>::max();  // of the one that has least
  double left_share = 1;                                      // of the one that has least

  void add(uint64_t limit_bytes, int64_t left_bytes, uint64_t reserve_bytes) {
    const auto reserve = static_cast<int64_t>(reserve_bytes);
    known = true;
    if (left_bytes < reserve) {
      lacking_bytes = std::max(lacking_bytes, reserve + reserve / 2 - left_bytes);
    }
    spare_bytes = std::min(spare_bytes, left_bytes - 2 * reserve);
    left_share = std::min(left_share, static_cast<double>(left_bytes) /
                                          static_cast<double>(std::max(limit_bytes, uint64_t{1})));
  }
};

uint64_t share_of(uint64_t bytes, double share) {
  return static_cast<uint64_t>(static_cast<double>(bytes) * share);
}

Standing standing(const PressureReading& now, const PressureOptions& options) {
  Standing result;
  if (now.host_total_bytes && now.host_available_bytes) {
    result.add(*now.host_total_bytes, static_cast<int64_t>(*now.host_available_bytes),
               std::max(options.host_reserve_least_bytes,
                        share_of(*now.host_total_bytes, options.host_reserve_share)));
  }
  for (const CgroupMemory& group : now.groups) {
    result.add(group.limit_bytes, group.left_bytes(),
               std::clamp(share_of(group.limit_bytes, options.group_reserve_share),
                          options.group_reserve_least_bytes, options.group_reserve_most_bytes));
  }
  return result;
}

}  // namespace

PressureReading read_pressure(const Host& host) {
  PressureReading reading;
  if (const uint64_t resident = process_usage(host).resident_bytes; resident > 0) {
    reading.resident_bytes = resident;
  }
  const MemInfo machine = read_meminfo(host);
  reading.host_total_bytes = machine.total_bytes;
  reading.host_available_bytes = machine.available_bytes;
  const auto levels = cgroup_levels(host);
  for (const CgroupLevel& level : levels) {
    if (auto memory = read_cgroup_memory(level)) reading.groups.push_back(std::move(*memory));
  }
  if (!levels.empty() && levels.front().version == CgroupVersion::v2 && !is_root(levels.front())) {
    reading.group_stall_us = read_stall_us(levels.front().folder / "memory.pressure");
  }
  reading.host_stall_us = read_stall_us(host.root / "proc/pressure/memory");
  return reading;
}

int64_t PressurePolicy::room(const PressureReading& now, double seconds) {
  const Standing all = standing(now, options_);
  const double stalled = stalled_share(now, seconds);
  before_ = now;
  if (!all.known) return 0;
  const int64_t at_most =
      static_cast<int64_t>(now.resident_bytes.value_or(std::numeric_limits<int64_t>::max()));

  const bool stall_counts =
      stalled > options_.stall_share && all.left_share < options_.stall_left_share;
  stalled_seconds_ = stall_counts ? stalled_seconds_ + seconds : 0;
  if (all.lacking_bytes > 0) {
    start_calm(calm_needed_seconds_);
    return -std::min(all.lacking_bytes, at_most);
  }
  if (stall_counts) {
    start_calm(options_.calm_after_stall_seconds);
    if (stalled_seconds_ < options_.stall_seconds || !now.resident_bytes) return 0;
    stalled_seconds_ = 0;
    return -static_cast<int64_t>(
        share_of(*now.resident_bytes, std::min(stalled, 1.0) * options_.stall_give_share));
  }

  calm_seconds_ += seconds;
  least_spare_bytes_ = std::min(least_spare_bytes_.value_or(all.spare_bytes), all.spare_bytes);
  if (calm_seconds_ < calm_needed_seconds_) return 0;
  const auto offer =
      static_cast<int64_t>(static_cast<double>(*least_spare_bytes_) * options_.rise_share);
  start_calm(options_.calm_seconds);
  return offer >= static_cast<int64_t>(options_.rise_least_bytes) ? offer : 0;
}

double PressurePolicy::stalled_share(const PressureReading& now, double seconds) const {
  if (!before_ || seconds <= 0) return 0;
  const bool own = now.group_stall_us && before_->group_stall_us;
  const auto& after_us = own ? now.group_stall_us : now.host_stall_us;
  const auto& before_us = own ? before_->group_stall_us : before_->host_stall_us;
  if (!after_us || !before_us || *after_us < *before_us) return 0;
  return static_cast<double>(*after_us - *before_us) / 1e6 / seconds;
}

void PressurePolicy::start_calm(double seconds_needed) {
  calm_seconds_ = 0;
  calm_needed_seconds_ = seconds_needed;
  least_spare_bytes_.reset();
}

PressureWatch::PressureWatch(Callback callback, PressureOptions options, Host host)
    : callback_(std::move(callback)),
      host_(std::move(host)),
      policy_(options),
      ticker_(kInterval, [this] { look(); }) {}

void PressureWatch::look() {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - last_look_.value_or(now)).count();
  last_look_ = now;
  if (const int64_t room = policy_.room(read_pressure(host_), seconds); room != 0) callback_(room);
}

}  // namespace plimsoll::memory
