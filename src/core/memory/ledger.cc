#include "memory/ledger.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::memory {

Lease::~Lease() {
  if (ledger_ != nullptr) ledger_->give_back(tag_, bytes_);
}

void Lease::shrink(uint64_t bytes) {
  if (ledger_ == nullptr || bytes >= bytes_) return;
  ledger_->give_back(tag_, bytes_ - bytes);
  bytes_ = bytes;
  if (bytes == 0) ledger_ = nullptr;  // its tag has no entry any more
}

void Lease::merge(Lease other) {
  if (ledger_ == nullptr) {
    *this = std::move(other);
    return;
  }
  bytes_ += std::exchange(other.bytes_, 0);
  other.ledger_ = nullptr;
}

Ledger::Reclaimer::~Reclaimer() {
  if (ledger_ == nullptr) return;
  const std::lock_guard lock(ledger_->reclaiming_);
  ledger_->reclaims_.erase(place_);
}

Ledger::Reclaimer Ledger::on_shortage(Reclaim reclaim) {
  const std::lock_guard lock(reclaiming_);
  reclaims_.push_back(std::move(reclaim));
  Reclaimer reclaimer;
  reclaimer.ledger_ = this;
  reclaimer.place_ = std::prev(reclaims_.end());
  return reclaimer;
}

// Bytes that are kept for one lease are not available to another.
uint64_t Ledger::room_bytes() const {
  const uint64_t taken = used_bytes_ + kept_bytes_;
  return limit_bytes_ > taken ? limit_bytes_ - taken : 0;
}

void Ledger::keep_for(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  kept_bytes_ = bytes;
}

uint64_t Ledger::missing_bytes() const {
  const std::lock_guard lock(mutex_);
  const uint64_t taken = used_bytes_ + kept_bytes_;
  return taken > limit_bytes_ ? taken - limit_bytes_ : 0;
}

void Ledger::reclaim() {
  for (const Reclaim& reclaim : reclaims_) {
    const uint64_t missing = missing_bytes();
    if (missing == 0) return;
    reclaim(missing);
  }
}

void Ledger::set_limit(uint64_t limit_bytes) {
  {
    const std::lock_guard lock(mutex_);
    limit_bytes_ = limit_bytes;
  }
  const std::lock_guard lock(reclaiming_);
  reclaim();
}

std::optional<Lease> Ledger::try_lease(std::string_view tag, uint64_t bytes) {
  if (auto lease = lease_spare(tag, bytes)) return lease;
  if (bytes > limit_bytes()) return {};  // nothing that could be given back makes room for it
  const std::lock_guard lock(reclaiming_);
  keep_for(bytes);
  reclaim();
  const std::lock_guard counting(mutex_);
  kept_bytes_ = 0;
  return take(tag, bytes);
}

std::optional<Lease> Ledger::lease_spare(std::string_view tag, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return take(tag, bytes);
}

std::optional<Lease> Ledger::take(std::string_view tag, uint64_t bytes) {
  if (used_bytes_ > limit_bytes_ || bytes > room_bytes()) return {};
  if (bytes == 0) return Lease();  // nothing to give back, so no entry under its tag
  used_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  by_tag_[std::string(tag)] += bytes;
  return Lease(this, tag, bytes);
}

Lease Ledger::lease(std::string_view tag, uint64_t bytes) {
  if (auto lease = try_lease(tag, bytes)) return std::move(*lease);
  std::string lent;
  for (const Usage& entry : usage()) {
    lent +=
        fmt::format("{}{} {}", lent.empty() ? " (" : ", ", entry.tag, format_bytes(entry.bytes));
  }
  if (!lent.empty()) lent += ")";
  fail(ErrorKind::memory, "{} need {}, {} left of {}{}; raise --memory", tag, format_bytes(bytes),
       format_bytes(available_bytes()), format_bytes(limit_bytes()), lent);
}

void Ledger::give_back(const std::string& tag, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_bytes_ -= bytes;
  const auto entry = by_tag_.find(tag);
  entry->second -= bytes;
  if (entry->second == 0) by_tag_.erase(entry);
}

uint64_t Ledger::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

uint64_t Ledger::limit_bytes() const {
  const std::lock_guard lock(mutex_);
  return limit_bytes_;
}

uint64_t Ledger::available_bytes() const {
  const std::lock_guard lock(mutex_);
  return room_bytes();
}

uint64_t Ledger::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

std::vector<Ledger::Usage> Ledger::usage() const {
  std::vector<Usage> entries;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [tag, bytes] : by_tag_) entries.push_back({tag, bytes});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Usage& a, const Usage& b) { return a.bytes > b.bytes; });
  return entries;
}

}  // namespace plimsoll::memory
