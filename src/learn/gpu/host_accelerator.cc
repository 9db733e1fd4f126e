#include "gpu/host_accelerator.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace plimsoll::gpu {
namespace {

class Steps final : public Accelerator::Recording {
 public:
  explicit Steps(std::function<void()> work) : work_(std::move(work)) {}
  void start() override { work_(); }

 private:
  std::function<void()> work_;
};

constexpr uint64_t kAlignment = 256;

}  // namespace

// Filled with a pattern: a GPU's memory is not zero either.
void* HostAccelerator::allocate(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (data == nullptr) throw std::bad_alloc();
  std::memset(data, 0xff, bytes);
  return data;
}

void HostAccelerator::release(void* data) noexcept { std::free(data); }
const void* HostAccelerator::reveal(const void* host, uint64_t /*bytes*/) { return host; }
void HostAccelerator::conceal(const void* /*host*/) noexcept {}
void HostAccelerator::upload(void* to, const void* host, uint64_t bytes) {
  if (bytes > 0) std::memcpy(to, host, bytes);
}
void HostAccelerator::download(void* host, const void* from, uint64_t bytes) {
  if (bytes > 0) std::memcpy(host, from, bytes);
}
void HostAccelerator::clear(void* data, uint64_t bytes) {
  if (bytes > 0) std::memset(data, 0, bytes);
}

void HostAccelerator::run(const KernelCall& work) {
  for (uint32_t thread = 0; thread < work.threads; ++thread) work.run(work.task, thread);
}

void HostAccelerator::multiply(const Product& product) {
  const auto a = [&](uint64_t row, uint64_t k) {
    return product.a[product.a_transposed ? k * product.a_step + row : row * product.a_step + k];
  };
  for (uint64_t row = 0; row < product.rows; ++row) {
    for (uint64_t column = 0; column < product.columns; ++column) {
      float sum = 0;
      for (uint64_t k = 0; k < product.inner; ++k) {
        sum += a(row, k) * product.b[product.b_transposed ? column * product.b_step + k
                                                          : k * product.b_step + column];
      }
      float& c = product.c[row * product.c_step + column];
      c = product.add ? c + sum : sum;
    }
  }
}

std::unique_ptr<Accelerator::Recording> HostAccelerator::record(const std::function<void()>& work) {
  return std::make_unique<Steps>(work);
}

}  // namespace plimsoll::gpu
