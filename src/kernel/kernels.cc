#include "kernel/kernels.h"

namespace plimsoll::kernel {
namespace {

const Kernels* choose() {
  if (const Kernels* kernels = avx512_kernels()) return kernels;
  if (const Kernels* kernels = avx2_kernels()) return kernels;
  return plain_kernels();
}

}  // namespace

const Kernels& best() {
  static const Kernels* const chosen = choose();
  return *chosen;
}

}  // namespace plimsoll::kernel
