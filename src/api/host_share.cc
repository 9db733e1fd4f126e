#include "api/host_share.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "base/units.h"
#include "memory/usage.h"
#include "plan/plan.h"

namespace plimsoll::api {
namespace {

constexpr std::chrono::milliseconds kInterval{200};
constexpr std::chrono::milliseconds kDue{20};
constexpr uint64_t kForgottenPart = 64;  // of a peak, five times a second: half of it in 9 s
// The limit goes up only by so much at a time, so that lines do not follow every small change.
constexpr uint64_t kLeastRiseBytes = 32 * kMiB;

}  // namespace

HostShare::HostShare(memory::Ledger& ledger, uint64_t limit_bytes)
    : ledger_(ledger),
      limit_bytes_(limit_bytes),
      usable_bytes_(limit_bytes - std::min(limit_bytes, plan::headroom_bytes(limit_bytes))) {
  look();
}

void HostShare::enforce() {
  {
    const std::lock_guard lock(mutex_);
    enforced_ = true;
  }
  look();
}

void HostShare::watch(io::LinedFile& rows, uint64_t needed_bytes) {
  {
    const std::lock_guard lock(mutex_);
    rows_ = &rows;
    planned_line_bytes_ = rows.line_bytes();
    needed_bytes_ += needed_bytes;
  }
  ticker_.emplace(kInterval, [this] { tick(); });
  pressure_.emplace([this](int64_t room_bytes) { adjust(room_bytes); });
}

void HostShare::need_more(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  needed_bytes_ += bytes;
}

void HostShare::need_less(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  needed_bytes_ -= std::min(needed_bytes_, bytes);
}

uint64_t HostShare::host_bytes() const {
  const std::lock_guard lock(mutex_);
  return host_bytes_;
}

uint64_t HostShare::over_bytes() const {
  const std::lock_guard lock(mutex_);
  return over_bytes_;
}

void HostShare::look() {
  const memory::ProcessUsage usage = memory::process_usage();
  const std::lock_guard lock(mutex_);
  last_look_ = std::chrono::steady_clock::now();
  const auto without_leases = [&](uint64_t bytes) {
    return bytes - std::min(bytes, ledger_.used_bytes());
  };
  host_bytes_ = without_leases(usage.resident_bytes);
  if (usage.peak_resident_bytes > known_peak_bytes_ && known_peak_bytes_ > 0) {
    host_peak_bytes_ = std::max(host_peak_bytes_, without_leases(usage.peak_resident_bytes));
  }
  known_peak_bytes_ = usage.peak_resident_bytes;
  host_peak_bytes_ = std::max(host_peak_bytes_, host_bytes_);
  apply();
}

void HostShare::look_if_due() {
  {
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - last_look_ < kDue) return;
  }
  look();
}

void HostShare::tick() {
  {
    const std::lock_guard lock(mutex_);
    host_peak_bytes_ -= host_peak_bytes_ / kForgottenPart;
  }
  look();
}

void HostShare::adjust(int64_t room_bytes) {
  const std::lock_guard lock(mutex_);
  if (room_bytes < 0) {
    const auto wanted = static_cast<uint64_t>(-room_bytes);
    const uint64_t used = ledger_.used_bytes();
    allowed_bytes_ = used - std::min(used, wanted);
  } else if (allowed_bytes_ < UINT64_MAX - static_cast<uint64_t>(room_bytes)) {
    allowed_bytes_ += static_cast<uint64_t>(room_bytes);
  }
  apply();
}

// Call with the mutex held.
void HostShare::apply() {
  const uint64_t room =
      std::min(usable_bytes_ - std::min(usable_bytes_, host_peak_bytes_), allowed_bytes_);
  const uint64_t wanted = std::max(room, needed_bytes_);
  const uint64_t now = ledger_.limit_bytes();
  const bool changes = wanted < now || wanted >= now + kLeastRiseBytes;
  if (enforced_ && changes) {
    ledger_.set_limit(wanted);
    if (wanted > now && rows_ != nullptr) {
      rows_->raise(planned_line_bytes_, 1, [](std::span<const std::byte>) {});
    }
  }
  const uint64_t held = host_bytes_ + ledger_.used_bytes();
  over_bytes_ = held - std::min(held, limit_bytes_);
}

}  // namespace plimsoll::api
