// The CPU in the place of a GPU: runs the device code thread by thread, and plain loops for matrix
// products. It is slow, and lets tests run without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/accelerator.h"
#include "gpu/emulation.h"

namespace plimsoll::gpu {

class HostAccelerator : public Accelerator {
 public:
  explicit HostAccelerator(uint64_t limit_bytes) : ledger_(limit_bytes) {}

  using Accelerator::run;
  std::string name() const override { return kEmulatedName; }
  memory::Ledger& ledger() override { return ledger_; }
  uint64_t free_bytes() const override { return UINT64_MAX; }  // its ledger is the only limit
  void* allocate(uint64_t bytes) override;
  void release(void* data) noexcept override;
  const void* reveal(const void* host, uint64_t bytes) override;
  void conceal(const void* host) noexcept override;
  void upload(void* to, const void* host, uint64_t bytes) override;
  void download(void* host, const void* from, uint64_t bytes) override;
  void clear(void* data, uint64_t bytes) override;
  void run(const KernelCall& work) override;
  void multiply(const Product& product) override;
  void wait() override {}
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;

 private:
  memory::Ledger ledger_;
};

}  // namespace plimsoll::gpu
