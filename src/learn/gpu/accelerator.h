// What a batch is computed on: memory, the threads of the device code (device_store.h), matrix
// products, and recordings of both that start as a whole. CudaAccelerator is a GPU; HostAccelerator
// runs the same code on the CPU, for tests. Everything happens in the order in which it was asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/device_batch.h"
#include "memory/ledger.h"

namespace plimsoll::gpu {

// c = a b + (add ? c : 0), for matrices whose rows follow each other `..._step` values apart. With
// a_transposed, `a` holds a^T.
struct Product {
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t inner = 0;
  const float* a = nullptr;
  uint64_t a_step = 0;
  bool a_transposed = false;
  const float* b = nullptr;
  uint64_t b_step = 0;
  bool b_transposed = false;
  float* c = nullptr;
  uint64_t c_step = 0;
  bool add = false;
};

// A task of the device code: the kernel's name, the threads, and what one does on a CPU.
struct KernelCall {
  std::string name;
  const void* task = nullptr;
  size_t task_bytes = 0;
  uint32_t threads = 0;
  void (*run)(const void* task, uint32_t thread) = nullptr;
};

// For one thread. Must outlive all memory and recordings that it gave.
class Accelerator {
 public:
  Accelerator() = default;
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;
  virtual ~Accelerator() = default;

  virtual std::string name() const = 0;
  // Holds the limit of its memory.
  virtual memory::Ledger& ledger() = 0;
  // Its free memory: what all programs together have left.
  virtual uint64_t free_bytes() const = 0;

  // Takes no lease: Array does that. Aligned to 256 bytes. Throws Error{memory} if it is refused.
  virtual void* allocate(uint64_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;

  // Lets the device read memory of the host. The address for the device; valid until conceal().
  virtual const void* reveal(const void* host, uint64_t bytes) = 0;
  virtual void conceal(const void* host) noexcept = 0;

  // Both return when `host` is not used any more.
  virtual void upload(void* to, const void* host, uint64_t bytes) = 0;
  virtual void download(void* host, const void* from, uint64_t bytes) = 0;
  virtual void clear(void* data, uint64_t bytes) = 0;
  virtual void run(const KernelCall& work) = 0;
  virtual void multiply(const Product& product) = 0;
  // Returns when everything asked for is done. Throws Error if some of it failed.
  virtual void wait() = 0;

  class Recording {
   public:
    virtual ~Recording() = default;
    virtual void start() = 0;
  };
  // Records what `work` asks for: it is not done now, but at every start().
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;

  template <typename Task>
  void run(const Task& task) {
    run({Task::kName, &task, sizeof task, task.threads, [](const void* given, uint32_t thread) {
           run_thread(*static_cast<const Task*>(given), thread);
         }});
  }
  // For work that draws: compiled for each fan-out by itself.
  template <typename Task>
  void run_drawing(const Task& task) {
    run({std::string(Task::kName) + "_" + std::to_string(task.fanout), &task, sizeof task,
         task.threads, [](const void* given, uint32_t thread) {
           run_thread<kMostFanout>(*static_cast<const Task*>(given), thread);
         }});
  }
};

// Memory of the host that a device reads, until this ends. Must end before the memory itself.
class Revealed {
 public:
  Revealed() = default;
  Revealed(Accelerator& device, const void* host, uint64_t bytes)
      : device_(&device), host_(host), data_(device.reveal(host, bytes)) {}
  Revealed(Revealed&& other) noexcept { *this = std::move(other); }
  Revealed& operator=(Revealed&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(host_, other.host_);
    std::swap(data_, other.data_);
    return *this;
  }
  Revealed(const Revealed&) = delete;
  Revealed& operator=(const Revealed&) = delete;
  ~Revealed() {
    if (device_ != nullptr) device_->conceal(host_);
  }

  // The address for the device.
  const void* data() const { return data_; }

 private:
  Accelerator* device_ = nullptr;
  const void* host_ = nullptr;
  const void* data_ = nullptr;
};

// Memory of a device, leased from its ledger.
template <typename T>
class Array {
 public:
  Array() = default;
  Array(Accelerator& device, std::string_view tag, uint64_t count)
      : device_(&device),
        lease_(device.ledger().lease(tag, bytes_needed(count))),
        data_(static_cast<T*>(device.allocate(bytes_needed(count)))),
        count_(count) {}
  Array(Array&& other) noexcept { *this = std::move(other); }
  Array& operator=(Array&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(lease_, other.lease_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (data_ != nullptr) device_->release(data_);
  }

  // Nothing is taken for 0 values.
  static constexpr uint64_t bytes_needed(uint64_t count) {
    return (count * sizeof(T) + kAllocationBytes - 1) / kAllocationBytes * kAllocationBytes;
  }

  T* data() const { return data_; }
  uint64_t size() const { return count_; }
  void upload(const T* host, uint64_t count) { device_->upload(data_, host, count * sizeof(T)); }

 private:
  static constexpr uint64_t kAllocationBytes = 512;  // what drivers round up to

  Accelerator* device_ = nullptr;
  memory::Lease lease_;
  T* data_ = nullptr;
  uint64_t count_ = 0;
};

}  // namespace plimsoll::gpu
