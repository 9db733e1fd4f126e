// The ledger holds the memory limit; whatever is large takes a lease before it allocates.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::memory {

class Ledger;

// A share of the ledger, given back when it ends. The ledger must outlive it.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept
      : ledger_(std::exchange(other.ledger_, nullptr)),
        tag_(std::move(other.tag_)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Lease& operator=(Lease&& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(tag_, other.tag_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();

  uint64_t bytes() const { return bytes_; }

 private:
  friend class Ledger;
  Lease(Ledger* ledger, std::string_view tag, uint64_t bytes)
      : ledger_(ledger), tag_(tag), bytes_(bytes) {}

  Ledger* ledger_ = nullptr;
  std::string tag_;
  uint64_t bytes_ = 0;
};

// Thread-safe. Invariant: the live leases never add up to more than the limit.
class Ledger {
 public:
  explicit Ledger(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // A refused lease is a value...
  std::optional<Lease> try_lease(std::string_view tag, uint64_t bytes);
  // ... or, where the work cannot go on without, Error{memory} with what was asked, left and lent.
  Lease lease(std::string_view tag, uint64_t bytes);

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const;
  uint64_t available_bytes() const;
  uint64_t peak_bytes() const;

  struct Usage {
    std::string tag;
    uint64_t bytes = 0;
  };
  std::vector<Usage> usage() const;  // live leases by tag, largest first

 private:
  friend class Lease;
  void give_back(const std::string& tag, uint64_t bytes);

  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  uint64_t used_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  std::map<std::string, uint64_t> by_tag_;
};

}  // namespace plimsoll::memory
