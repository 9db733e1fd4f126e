// Leased memory straight from the kernel: zeroed, page-aligned (so fit for O_DIRECT), and returned
// to the kernel, not to a heap, when it ends, so that the resident size follows the ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "memory/ledger.h"

namespace plimsoll::memory {

constexpr uint64_t kPageBytes = 4096;
// More than any ledger lends. Larger sizes are refused, too.
constexpr uint64_t kMostBytes = uint64_t{1} << 63;

// A source of pages other than the kernel: a GPU's driver, for instance, lends memory that it can
// copy from at full speed. Its memory is aligned to at least 64 bytes. It must outlive what it
// lent.
class PageSource {
 public:
  PageSource() = default;
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;
  virtual ~PageSource() = default;
  // The bytes that allocate(bytes) really takes, at least `bytes`: this much is leased.
  virtual uint64_t whole_bytes(uint64_t bytes) const { return bytes; }
  virtual void* allocate(uint64_t bytes) = 0;  // throws if it cannot
  virtual void release(void* data, uint64_t bytes) noexcept = 0;
};

// The untyped part of Buffer.
class Pages {
 public:
  Pages() = default;
  Pages(Ledger& ledger, std::string_view tag, uint64_t bytes, PageSource* source = nullptr);
  Pages(Pages&& other) noexcept
      : lease_(std::move(other.lease_)),
        source_(other.source_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(lease_, other.lease_);
    std::swap(source_, other.source_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Releases the lease but keeps the pages, for memory that outlives its ledger.
  void end_lease() { lease_ = Lease(); }

 private:
  Lease lease_;
  PageSource* source_ = nullptr;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Ledger& ledger, std::string_view tag, uint64_t count)
      : pages_(ledger, tag, count > kMostBytes / sizeof(T) ? kMostBytes : count * sizeof(T)),
        count_(count) {}
  Buffer(Buffer&& other) noexcept
      : pages_(std::move(other.pages_)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(count_, other.count_);
    return *this;
  }

  static constexpr uint64_t bytes_needed(uint64_t count) {
    return (count * sizeof(T) + kPageBytes - 1) / kPageBytes * kPageBytes;
  }

  T* data() const { return static_cast<T*>(pages_.data()); }
  uint64_t size() const { return count_; }
  T& operator[](uint64_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }
  std::span<T> span() const { return {data(), count_}; }
  std::span<T> first(uint64_t count) const { return span().first(count); }

 private:
  Pages pages_;
  uint64_t count_ = 0;
};

}  // namespace plimsoll::memory
