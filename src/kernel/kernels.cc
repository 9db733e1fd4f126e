#include "kernel/kernels.h"

namespace plimsoll::kernel {

const Kernels& best() {
  static const Kernels& best = []() -> const Kernels& {
    if (const Kernels* kernels = avx512_kernels()) return *kernels;
    if (const Kernels* kernels = avx2_kernels()) return *kernels;
    return *plain_kernels();
  }();
  return best;
}

}  // namespace plimsoll::kernel
