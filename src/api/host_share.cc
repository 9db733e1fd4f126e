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
  ticker_.emplace(kInterval, [this] { look(); });
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
  const uint64_t resident = memory::process_usage().resident_bytes;
  const std::lock_guard lock(mutex_);
  host_bytes_ = resident - std::min(resident, ledger_.used_bytes());
  apply();
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
      std::min(usable_bytes_ - std::min(usable_bytes_, host_bytes_), allowed_bytes_);
  over_bytes_ = room < needed_bytes_ ? needed_bytes_ - room : 0;
  const uint64_t wanted = std::max(room, needed_bytes_);
  const uint64_t now = ledger_.limit_bytes();
  if (!enforced_ || (wanted >= now && wanted < now + kLeastRiseBytes)) return;
  ledger_.set_limit(wanted);
  if (wanted < now || rows_ == nullptr) return;
  rows_->raise(planned_line_bytes_, 1, [](std::span<const std::byte>) {});
}

}  // namespace plimsoll::api
