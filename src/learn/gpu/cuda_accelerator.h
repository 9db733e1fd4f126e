// A GPU, through NVIDIA's driver, with cuBLAS for matrix products.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gpu/accelerator.h"
#include "gpu/cuda_functions.h"

namespace plimsoll::gpu {

// What the driver says about a GPU. `missing` is empty if it can be used.
struct GpuSize {
  std::string missing;
  std::string name;
  uint64_t total_bytes = 0;
  std::optional<uint64_t> free_bytes;  // that other programs leave, if it can be known
};
// Needs no context, so it takes nothing of the GPU's memory. `ordinal` as CUDA counts.
GpuSize size_of_gpu(int ordinal);

// Why a GPU cannot run the device code: a missing library, or code that does not compile. Empty if
// it can. Takes nothing of the GPU's memory. What was compiled is kept for the training.
std::string device_code_problem(int ordinal, const std::set<uint32_t>& fanouts);

// The work of one training on one GPU. It shares the context, and so the pointers, with torch.
class CudaAccelerator final : public Accelerator {
 public:
  struct Options {
    int ordinal = 0;
    uint64_t limit_bytes = 0;  // of the ledger
    std::set<uint32_t> fanouts;
    bool tf32 = false;  // matrix products in reduced precision
  };
  // Throws Error{usage} that says what is missing.
  explicit CudaAccelerator(const Options& options);
  ~CudaAccelerator() override;

  using Accelerator::run;
  std::string name() const override { return name_; }
  memory::Ledger& ledger() override { return ledger_; }
  uint64_t free_bytes() const override;
  void* allocate(uint64_t bytes) override;
  void release(void* data) noexcept override;
  const void* reveal(const void* host, uint64_t bytes) override;
  void conceal(const void* host) noexcept override;
  void upload(void* to, const void* host, uint64_t bytes) override;
  void download(void* host, const void* from, uint64_t bytes) override;
  void clear(void* data, uint64_t bytes) override;
  void run(const KernelCall& work) override;
  void multiply(const Product& product) override;
  void wait() override;
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;

  // For cuBLAS, so that it allocates nothing by itself.
  static constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;

 private:
  class CapturedGraph;
  void check(int result, const char* doing) const;

  memory::Ledger ledger_;
  const cuda::DriverFunctions& driver_;
  const cuda::BlasFunctions& blas_;
  std::string name_;
  cuda::Context context_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::ModuleHandle module_ = nullptr;
  cuda::Blas handle_ = nullptr;
  std::map<std::string, cuda::Function, std::less<>> kernels_;
  Array<uint8_t> workspace_;
};

}  // namespace plimsoll::gpu
