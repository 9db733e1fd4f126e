// The ledger holds the memory limit. Large allocations take a lease first.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::memory {

class Ledger;

// A share of the ledger, released when it ends. The ledger must outlive it.
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

  // Keeps `bytes` and releases the rest.
  void shrink(uint64_t bytes);
  // Takes over another lease of the same ledger and tag.
  void merge(Lease other);

 private:
  friend class Ledger;
  Lease(Ledger* ledger, std::string_view tag, uint64_t bytes)
      : ledger_(ledger), tag_(tag), bytes_(bytes) {}

  Ledger* ledger_ = nullptr;
  std::string tag_;
  uint64_t bytes_ = 0;
};

// Thread-safe. Invariant: the live leases never add up to more than the limit, unless the limit was
// lowered and leases could not be reclaimed.
class Ledger {
 public:
  explicit Ledger(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Releases at least `bytes` if it can. Called on the thread whose lease does not fit. It must not
  // take a lease, or a lock that this thread may hold.
  using Reclaim = std::function<void(uint64_t bytes)>;
  // Registered while it lives; must end before the ledger.
  class Reclaimer {
   public:
    Reclaimer() = default;
    Reclaimer(Reclaimer&& other) noexcept { *this = std::move(other); }
    Reclaimer& operator=(Reclaimer&& other) noexcept {
      std::swap(ledger_, other.ledger_);
      std::swap(place_, other.place_);
      return *this;
    }
    Reclaimer(const Reclaimer&) = delete;
    Reclaimer& operator=(const Reclaimer&) = delete;
    ~Reclaimer();

   private:
    friend class Ledger;
    Ledger* ledger_ = nullptr;
    std::list<Reclaim>::iterator place_;
  };
  // They are asked in the order in which they were registered.
  [[nodiscard]] Reclaimer on_shortage(Reclaim reclaim);

  // Returns nothing if the lease is refused.
  std::optional<Lease> try_lease(std::string_view tag, uint64_t bytes);
  // The same, without asking others to release memory.
  std::optional<Lease> lease_spare(std::string_view tag, uint64_t bytes);
  // Throws Error{memory} with the requested, free and leased bytes if the lease is refused.
  Lease lease(std::string_view tag, uint64_t bytes);

  // If the new limit is lower, reclaims as many leases as possible.
  void set_limit(uint64_t limit_bytes);

  uint64_t limit_bytes() const;
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
  // Asks each in turn until enough is free. Call with reclaiming_ held.
  void reclaim();
  uint64_t missing_bytes() const;
  // Reserves released bytes for a lease of this size, so that no faster thread takes them.
  void keep_for(uint64_t bytes);
  // With mutex_ held.
  uint64_t room_bytes() const;
  std::optional<Lease> take(std::string_view tag, uint64_t bytes);

  std::mutex reclaiming_;  // guards reclaims_, and is held while one of them works
  std::list<Reclaim> reclaims_;

  mutable std::mutex mutex_;  // guards what follows
  uint64_t limit_bytes_;
  uint64_t used_bytes_ = 0;
  uint64_t kept_bytes_ = 0;  // for a lease that others are being asked for
  uint64_t peak_bytes_ = 0;
  std::map<std::string, uint64_t> by_tag_;
};

}  // namespace plimsoll::memory
