// Pinned memory of the host, from which a GPU copies at full speed and without waiting: ordinary
// pages that NVIDIA's driver has locked. Where the driver is missing or refuses, the pages stay
// ordinary ones and problem() says why: pinning makes copies faster, and nothing depends on it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "gpu/cuda_functions.h"
#include "memory/buffer.h"

namespace plimsoll::gpu {

// For any thread. It uses the primary context of the GPU, which is torch's, and leaves the current
// context of every thread as it was. Must outlive its pages and marks.
class PinnedPages final : public memory::PageSource {
 public:
  // `ordinal` as CUDA counts. All GPUs copy from the pages at full speed; its context counts.
  explicit PinnedPages(int ordinal,
                       const cuda::Opened<cuda::DriverFunctions>& driver = cuda::driver());
  ~PinnedPages() override;

  void* allocate(uint64_t bytes) override;
  void release(void* data, uint64_t bytes) noexcept override;

  // Why pages are not pinned, of the first that were not; empty if all are.
  std::string problem() const;
  uint64_t pinned_bytes() const;

  // A mark in the GPU's work. It has passed when the GPU has done all that it had been asked for
  // before, by any thread and on any stream. Memory that is given back may still be copied from; it
  // is free when its mark has passed.
  class CopyMark {
   public:
    explicit CopyMark(PinnedPages& pages);
    CopyMark(const CopyMark&) = delete;
    CopyMark& operator=(const CopyMark&) = delete;
    ~CopyMark();
    // With a driver that cannot mark a moment (before CUDA 12.5) it waits for the GPU instead.
    bool passed() noexcept;
    void wait() noexcept;

   private:
    PinnedPages& pages_;
    cuda::Event event_ = nullptr;
    bool passed_ = false;
  };

 private:
  class InContext;
  void refuse(std::string_view doing, int result);

  const cuda::DriverFunctions& driver_;
  int device_ = 0;
  cuda::Context context_ = nullptr;  // null: nothing is pinned

  mutable std::mutex mutex_;  // guards what follows
  std::string problem_;
  std::set<void*> pinned_;
  uint64_t pinned_bytes_ = 0;
};

}  // namespace plimsoll::gpu
