// An array that grows as a batch needs it and then keeps its room for the next one: after the first
// few batches nothing is allocated any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "memory/buffer.h"

namespace plimsoll::memory {

// Values that were not written are undefined. Growing leases the new memory before it releases the
// old.
template <typename T>
class Growing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Growing() = default;
  Growing(Ledger& ledger, std::string_view tag, PageSource* source = nullptr)
      : ledger_(&ledger), tag_(tag), source_(source) {}

  T* data() const { return static_cast<T*>(pages_.data()); }
  uint64_t capacity() const { return pages_.bytes() / sizeof(T); }
  T& operator[](uint64_t i) const { return data()[i]; }
  std::span<T> first(uint64_t count) const { return {data(), count}; }

  // An empty array of the same kind.
  Growing empty_copy() const { return {*ledger_, tag_, source_}; }
  // Releases its memory.
  void release() { pages_ = Pages(); }

  // Bytes for `count` values after renew().
  static constexpr uint64_t renewed_bytes(uint64_t count) {
    return rounded_up((count + count / 8) * sizeof(T));
  }
  // Bytes for `count` values after reserve(), which grows by at least half: on average a quarter
  // more.
  static constexpr uint64_t grown_bytes(uint64_t count) {
    return rounded_up((count + count / 4) * sizeof(T));
  }

  // Room for `count` values. Keeps the first `kept`.
  void reserve(uint64_t count, uint64_t kept) {
    if (count <= capacity()) return;
    const uint64_t more = std::max(count, capacity() + capacity() / 2);
    Pages larger(*ledger_, tag_, more * sizeof(T), source_);
    if (kept > 0) std::memcpy(larger.data(), pages_.data(), kept * sizeof(T));
    pages_ = std::move(larger);
  }
  // Room for `count` new values.
  void renew(uint64_t count) {
    if (count <= capacity()) return;
    pages_ = Pages();
    reserve(count + count / 8, 0);
  }

 private:
  static constexpr uint64_t rounded_up(uint64_t bytes) {
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  }

  Ledger* ledger_ = nullptr;
  std::string tag_;
  PageSource* source_ = nullptr;
  Pages pages_;
};

}  // namespace plimsoll::memory
