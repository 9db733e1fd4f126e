#include "kernel/kernels.h"

#include "kernel/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plimsoll::kernel {

uint32_t cpu_features() {
  uint32_t found = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse3") != 0) found |= kSse3;
  if (__builtin_cpu_supports("ssse3") != 0) found |= kSsse3;
  if (__builtin_cpu_supports("sse4.1") != 0) found |= kSse41;
  if (__builtin_cpu_supports("sse4.2") != 0) found |= kSse42;
  if (__builtin_cpu_supports("popcnt") != 0) found |= kPopcnt;
  if (__builtin_cpu_supports("avx") != 0) found |= kAvx;
  if (__builtin_cpu_supports("avx2") != 0) found |= kAvx2;
  if (__builtin_cpu_supports("fma") != 0) found |= kFma;
  if (__builtin_cpu_supports("avx512f") != 0) found |= kAvx512f;
  if (__builtin_cpu_supports("avx512bw") != 0) found |= kAvx512bw;
  if (__builtin_cpu_supports("avx512vl") != 0) found |= kAvx512vl;
  // Some compilers' builtin does not know F16C. It uses the registers of AVX, so the system must
  // support AVX.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool asked = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0;
  if (asked && (ecx & bit_F16C) != 0 && (found & kAvx) != 0) found |= kF16c;
#endif
  return found;
}

const Kernels* runnable(const Build& build, uint32_t features) {
  const bool runs = build.kernels.name != nullptr && (build.needs & ~features) == 0;
  return runs ? &build.kernels : nullptr;
}

const Kernels& best_of(uint32_t features) {
  if (const Kernels* kernels = runnable(kAvx512Build, features)) return *kernels;
  if (const Kernels* kernels = runnable(kAvx2Build, features)) return *kernels;
  return kPlainBuild.kernels;
}

const Kernels& best() {
  static const Kernels& chosen = best_of(cpu_features());
  return chosen;
}

const Kernels* plain_kernels() { return &kPlainBuild.kernels; }
const Kernels* avx2_kernels() { return runnable(kAvx2Build, cpu_features()); }
const Kernels* avx512_kernels() { return runnable(kAvx512Build, cpu_features()); }

}  // namespace plimsoll::kernel
