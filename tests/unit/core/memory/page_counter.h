// A PageSource that counts what it lends, so that a test can see every page come back.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "memory/buffer.h"

namespace plimsoll::memory {

// From any thread. The pages hold garbage: nobody may count on zeros.
class PageCounter final : public PageSource {
 public:
  ~PageCounter() override { EXPECT_EQ(lent_.size(), 0U) << "pages that never came back"; }

  void* allocate(uint64_t bytes) override {
    if (refuses) throw std::bad_alloc();
    void* data = std::aligned_alloc(kPageBytes, bytes);
    if (data == nullptr) throw std::bad_alloc();
    for (uint64_t i = 0; i < bytes; ++i) static_cast<unsigned char*>(data)[i] = 0xa5;
    const std::lock_guard lock(mutex_);
    lent_[data] = bytes;
    ++allocations_;
    return data;
  }
  void release(void* data, uint64_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = lent_.find(data);
    EXPECT_TRUE(found != lent_.end()) << "pages that were never lent";
    if (found == lent_.end()) return;
    EXPECT_EQ(found->second, bytes);
    lent_.erase(found);
    std::free(data);  // NOLINT(cppcoreguidelines-no-malloc): of aligned_alloc
  }

  uint64_t allocations() const {
    const std::lock_guard lock(mutex_);
    return allocations_;
  }
  uint64_t lent_bytes() const {
    const std::lock_guard lock(mutex_);
    uint64_t bytes = 0;
    for (const auto& [data, size] : lent_) bytes += size;
    return bytes;
  }

  bool refuses = false;

 private:
  mutable std::mutex mutex_;
  std::map<void*, uint64_t> lent_;
  uint64_t allocations_ = 0;
};

}  // namespace plimsoll::memory
