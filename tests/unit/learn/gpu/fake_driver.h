// NVIDIA's driver as a fake: it pins and records, and the test decides what fails and when the GPU
// is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "gpu/cuda_functions.h"

namespace plimsoll::gpu {

// One at a time: the driver's functions are plain ones.
class FakeDriver {
 public:
  FakeDriver() {
    current_ = this;
    cuda::DriverFunctions& f = opened.functions;
    f.init = [](unsigned) { return current_->init_result.load(); };
    f.device_get = [](int* device, int ordinal) {
      *device = ordinal;
      return ordinal < 2 ? 0 : 101;
    };
    f.retain_context = [](cuda::Context* context, int) {
      ++current_->contexts;
      *context = reinterpret_cast<cuda::Context>(current_);
      return 0;
    };
    f.release_context = [](int) {
      --current_->contexts;
      return 0;
    };
    f.push_context = [](cuda::Context) {
      ++pushed_;
      return 0;
    };
    f.pop_context = [](cuda::Context*) {
      --pushed_;
      return 0;
    };
    f.wait_context = [] {
      current_->done = current_->now.load();
      ++current_->waits;
      return 0;
    };
    f.register_host = [](void* data, size_t bytes, unsigned) {
      const std::lock_guard lock(current_->mutex);
      if (pushed_ != 1) return 201;
      if (current_->refuses > 0) return 2;
      current_->pinned[data] = bytes;
      return 0;
    };
    f.unregister_host = [](void* data) {
      const std::lock_guard lock(current_->mutex);
      return current_->pinned.erase(data) == 1 ? 0 : 713;
    };
    f.create_event = [](cuda::Event* event, unsigned) {
      ++current_->events;
      *event = reinterpret_cast<cuda::Event>(new uint64_t(0));
      return 0;
    };
    f.record_context = [](cuda::Context, cuda::Event event) {
      *reinterpret_cast<uint64_t*>(event) = current_->now;
      return 0;
    };
    f.query_event = [](cuda::Event event) {
      return *reinterpret_cast<uint64_t*>(event) <= current_->done ? 0 : cuda::kNotReady;
    };
    f.destroy_event = [](cuda::Event event) {
      --current_->events;
      delete reinterpret_cast<uint64_t*>(event);
      return 0;
    };
    f.error_text = [](int result, const char** text) {
      *text = result == 2 ? "out of memory" : nullptr;
      return 0;
    };
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() { current_ = nullptr; }

  // The caller asks the GPU to copy; it has done so after finish().
  void copy() { ++now; }
  void finish() { done = now.load(); }
  uint64_t pinned_bytes() {
    const std::lock_guard lock(mutex);
    uint64_t bytes = 0;
    for (const auto& [data, size] : pinned) bytes += size;
    return bytes;
  }

  cuda::Opened<cuda::DriverFunctions> opened;
  std::atomic<int> init_result = 0;
  std::atomic<int> refuses = 0;
  std::atomic<int> contexts = 0;
  std::atomic<int> events = 0;
  std::atomic<int> waits = 0;
  std::atomic<uint64_t> now = 0;
  std::atomic<uint64_t> done = 0;
  std::mutex mutex;
  std::map<void*, size_t> pinned;

 private:
  static inline FakeDriver* current_ = nullptr;
  static inline thread_local int pushed_ = 0;
};

}  // namespace plimsoll::gpu
