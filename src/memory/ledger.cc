#include "memory/ledger.h"

#include <algorithm>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::memory {

Lease::~Lease() {
  if (ledger_ != nullptr) ledger_->give_back(tag_, bytes_);
}

std::optional<Lease> Ledger::try_lease(std::string_view tag, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > limit_bytes_ - used_bytes_) return {};
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
       format_bytes(available_bytes()), format_bytes(limit_bytes_), lent);
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

uint64_t Ledger::available_bytes() const { return limit_bytes_ - used_bytes(); }

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
