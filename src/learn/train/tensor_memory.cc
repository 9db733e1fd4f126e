#include "train/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "memory/buffer.h"
#include "memory/usage.h"
#include "nn/footprint.h"
#include "train/job.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kLargeBytes = 64 * 1024;
constexpr uint64_t kHeaderBytes = nn::kTensorHeaderBytes;

// Placed before every tensor's values; owns their memory.
struct Header {
  memory::Pages pages;  // contains the header itself; empty if it is on the heap
  uint64_t room_bytes = 0;
};
static_assert(sizeof(Header) <= kHeaderBytes);

Header* header_of(void* values) {
  return reinterpret_cast<Header*>(static_cast<char*>(values) - kHeaderBytes);
}
void* values_of(void* base) { return static_cast<char*>(base) + kHeaderBytes; }

class Pool final : public c10::Allocator {
 public:
  static Pool& instance() {
    static Pool* pool = new Pool;  // NOLINT: tensors may outlive every other object
    return *pool;
  }

  void give_back_cached() {
    const std::lock_guard lock(mutex_);
    drop_cached();
  }

  void use(memory::Ledger* ledger) {
    const std::lock_guard lock(mutex_);
    drop_cached();
    if (ledger == nullptr) {
      for (Header* header : live_) header->pages.end_lease();
      live_.clear();
      live_bytes_ = most_live_bytes_ = 0;
    }
    ledger_ = ledger;
  }

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  c10::DataPtr allocate(size_t bytes) override { return lend(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override {
    return const_cast<Pool*>(this)->lend(bytes);
  }
#endif
  c10::DeleterFnPtr raw_deleter() const override { return &take_back; }

 private:
  c10::DataPtr lend(uint64_t bytes) {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &take_back, cpu};
    void* values = bytes >= kLargeBytes ? lend_large(nn::tensor_room_bytes(bytes)) : nullptr;
    if (values == nullptr) {
      void* base = std::aligned_alloc(kHeaderBytes,
                                      (bytes + 2 * kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes);
      if (base == nullptr) throw std::bad_alloc();
      new (base) Header;
      values = values_of(base);
    }
    return {values, values, &take_back, cpu};
  }

  // Null if there is no TensorMemory. The mutex is not held while leasing, because that may call
  // give_back_cached().
  void* lend_large(uint64_t room_bytes) {
    memory::Ledger* ledger = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (ledger_ == nullptr) return nullptr;
      // Accept memory that is up to half as large again: batches vary, and keeping memory for every
      // size would take too much.
      const auto found = cached_.lower_bound(room_bytes);
      if (found != cached_.end() && found->first <= room_bytes + room_bytes / 2) {
        Header* header = found->second;
        cached_.erase(found);
        cached_bytes_ -= header->room_bytes;
        add_live(header);
        return values_of(header);
      }
      trim_cached(room_bytes);
      ledger = ledger_;
    }
    memory::Pages pages(*ledger, "tensors", room_bytes);
    auto* header = new (pages.data()) Header{.room_bytes = room_bytes};
    header->pages = std::move(pages);
    const std::lock_guard lock(mutex_);
    add_live(header);
    return values_of(header);
  }

  void add_live(Header* header) {
    live_.insert(header);
    live_bytes_ += header->room_bytes;
    most_live_bytes_ = std::max(most_live_bytes_, live_bytes_);
  }

  static void take_back(void* values) {
    if (values == nullptr) return;
    Header* header = header_of(values);
    if (header->room_bytes == 0) {
      header->~Header();
      std::free(header);
    } else {
      instance().keep(header);
    }
  }

  // Keeps at most as much as was in use at the same time before, so the pool never raises the peak.
  void keep(Header* header) {
    const std::lock_guard lock(mutex_);
    if (live_.erase(header) == 0) {
      release(header);  // its TensorMemory has ended
      return;
    }
    live_bytes_ -= header->room_bytes;
    cached_.emplace(header->room_bytes, header);
    cached_bytes_ += header->room_bytes;
    trim_cached(0);
  }

  // Releases cached memory until everything, with `coming_bytes`, is at most the peak so far.
  void trim_cached(uint64_t coming_bytes) {
    const uint64_t most = std::max(most_live_bytes_, live_bytes_ + coming_bytes);
    while (!cached_.empty() && live_bytes_ + cached_bytes_ + coming_bytes > most) {
      const auto smallest = cached_.begin();
      cached_bytes_ -= smallest->first;
      release(smallest->second);
      cached_.erase(smallest);
    }
  }

  void drop_cached() {
    for (const auto& [bytes, header] : cached_) release(header);
    cached_.clear();
    cached_bytes_ = 0;
  }

  // Moves the pages out first: the header is inside the pages that it owns.
  static void release(Header* header) { const memory::Pages last = std::move(header->pages); }

  std::mutex mutex_;
  memory::Ledger* ledger_ = nullptr;
  std::multimap<uint64_t, Header*> cached_;  // by room_bytes
  std::set<Header*> live_;
  uint64_t cached_bytes_ = 0;
  uint64_t live_bytes_ = 0;
  uint64_t most_live_bytes_ = 0;
};

}  // namespace

memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes) {
  const uint64_t now = memory::process_usage().resident_bytes;
  // Not more than planned if that is enough: under a tight limit the rest is planned for other
  // uses.
  return ledger.lease(kRuntimeTag, now > planned_bytes ? now + kHeapBytes : planned_bytes);
}

TensorMemory::TensorMemory(memory::Ledger& ledger)
    : reclaimer_(
          ledger.on_shortage([](uint64_t /*bytes*/) { Pool::instance().give_back_cached(); })) {
  Pool::instance().use(&ledger);
  c10::SetCPUAllocator(&Pool::instance(), /*priority=*/1);
}

TensorMemory::~TensorMemory() { Pool::instance().use(nullptr); }

}  // namespace plimsoll::train
